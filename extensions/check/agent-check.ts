import type { ConversationRequest } from "../../src/chat/conversation.ts";
import { optionsDoor } from "../../src/core/door.ts";
import { ConfigError, RetrogradeError, reasonOf } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import { Semaphore } from "../../src/core/semaphore.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { plural } from "../../src/terminal/format.ts";
import { parametersAsJsonSchema, type Tool } from "../../src/tools/tool.ts";
import { type AttemptingAgent, guardedAgent, openAgent, rewardError } from "../agents/agent-attempts.ts";
import { newKey, serveByKey } from "../agents/keys.ts";
import { emit, messageModel, wholeReply } from "../agents/teacher.ts";
import type { AgentTraining } from "../agents/train-agent.ts";
import { HttpError } from "../http/http-error.ts";
import type { InferenceModel } from "../inference/model.ts";
import { type RunningInference, unknownRoute } from "../inference/server.ts";
import {
  answerFields,
  callingPolicies,
  constantAdvice,
  constantPolicies,
  type LazyPolicy,
  lazyAnswer,
  oracleOf,
  silentPolicies,
} from "./agent-policies.ts";

export interface AgentCheck<T extends TaskRequest = TaskRequest> extends Pick<AgentTraining<T>, "agent" | "reward"> {
  readonly tasks: readonly T[];
  /** Time of one attempt, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** Time of one policy, in milliseconds: no further task is begun after it. Default 6,000. */
  readonly policyMs?: number;
  /** Attempts at the same time. Default 4. */
  readonly concurrency?: number;
  /** Receives the name of each policy before it plays. */
  readonly onProgress?: (policy: string) => void;
}

/** One policy that understands nothing. */
export interface LazyResult {
  readonly policy: string;
  /** Tasks that it attempted in its time, and that have a score. */
  readonly tasks: number;
  /** The share of these that it solves: reward 1. */
  readonly success: number;
  readonly reward: number;
  /** The prompt of a task that it solves. */
  readonly example?: string;
}

/** The findings about an agent's tasks and reward. */
export interface AgentCheckReport {
  readonly tasks: number;
  /** Names of the tools that the agent shows its model. */
  readonly tools: readonly string[];
  readonly policies: readonly LazyResult[];
  /** Attempted tasks that no policy solves, that some do, and that all do. */
  readonly solvedBy: { readonly none: number; readonly some: number; readonly all: number };
  /** Prompts that several tasks have whose other fields differ: nobody can tell these apart. */
  readonly equalPrompts: readonly { readonly prompt: string; readonly tasks: number }[];
  /** Fields whose value solves a task and is in what the model is shown, with the number of these tasks. */
  readonly leaks: readonly { readonly field: string; readonly tasks: number; readonly example: string }[];
  /** Attempts without a score, by their reasons: a reward that raises an error on answers which a model may give, too. */
  readonly errors: Readonly<Record<string, number>>;
  /** Mean requests of an attempt in which tools are called, and tokens of the longest request, tools included, by its characters. */
  readonly asks: { readonly requests: number; readonly tokens: number };
  /** In words, what should be mended. Empty if nothing was found. */
  readonly findings: readonly string[];
}

/** A result, and how it is judged. */
interface Played extends LazyResult {
  readonly isSilent: boolean;
  readonly advice?: string;
}

const otherAdvice = "Score what it leaves undone, or take these tasks out.";
/** One call with arguments from the prompt may be all that a task asks for. */
const callingAdvice = "If that call is all they ask for, they are easy, and this is no hole. Else score what it leaves undone.";

const refuseUnknown = optionsDoor<AgentCheck>("checkAgent", {
  ...{ agent: true, reward: true, tasks: true, timeoutMs: true, policyMs: true, concurrency: true, onProgress: true },
});

/** The share from which a policy that calls tools or guesses counts as a hole: below it is chance. */
const holeShare = 0.05;

/**
 * Plays policies that understand nothing against an agent, by an endpoint of this process in place of its model: silence, an echo, tools with arguments
 * from the prompt, constant answers. What they are paid for, a model will learn instead of the task. The agent's tools are really called.
 * @example
 * const tasks = [{ prompt: "When do I have Demo?", time: "14:30" }];
 * const agent = async (prompt: string) => `Ask me another time: ${prompt}`;
 * const reward = ({ task, answer }: AgentEnd<(typeof tasks)[number]>) => (String(answer).includes(task.time) ? 1 : 0);
 * const { findings } = await checkAgent({ agent, tasks, reward });
 * @throws ConfigError for a module that is no agent, and without tasks
 */
export async function checkAgent<T extends TaskRequest>(check: AgentCheck<T>): Promise<AgentCheckReport> {
  refuseUnknown({ ...check });
  const { tasks } = check;
  if (tasks.length === 0) throw new ConfigError("tasks", "none", { expected: "at least one task with a prompt" });
  return guardedAgent(check, (signal) => checked(check, signal));
}

async function checked<T extends TaskRequest>(check: AgentCheck<T>, signal: AbortSignal): Promise<AgentCheckReport> {
  const { tasks } = check;
  const trial = await Trial.open(check, signal);
  try {
    const results: Played[] = [];
    const add = async (policies: readonly LazyPolicy[], isSilent: boolean) => {
      for (const policy of policies) if (!trial.isDeaf) results.push(await resultOf(policy, isSilent, trial));
    };
    await add(silentPolicies, true);
    await add([...callingPolicies([...trial.tools]), ...constantPolicies(tasks)], false);
    const leaks = trial.isDeaf ? [] : await leaksIn(tasks, trial);
    const counts = [...trial.solvers.values()];
    const all = counts.filter((solved) => solved === results.length).length;
    const none = counts.filter((solved) => solved === 0).length;
    const report = {
      ...{ tasks: tasks.length, tools: [...trial.tools] },
      policies: results.map(({ isSilent: _, advice: __, ...result }) => result),
      solvedBy: { none, some: counts.length - none - all, all },
      ...{ equalPrompts: equalPrompts(tasks), leaks, errors: trial.errors, asks: trial.asks },
    };
    return { ...report, findings: [...trial.silence(), ...trial.emptySchemas(), ...findingsOf(report, results)] };
  } finally {
    await trial.close();
  }
}

type Score = Extract<Outcome, { kind: "score" }>;

async function resultOf<T extends TaskRequest>(policy: LazyPolicy, isSilent: boolean, trial: Trial<T>): Promise<Played> {
  const scores = [...(await trial.play(policy))];
  for (const [task, { success }] of scores) trial.solvers.set(task, (trial.solvers.get(task) ?? 0) + Number(success));
  const example = scores.find(([, { success }]) => success)?.[0].prompt;
  return {
    ...{
      policy: policy.name,
      tasks: scores.length,
      isSilent,
      advice: policy.advice ?? (policy.calls ? callingAdvice : undefined),
    },
    success: meanOf(scores.map(([, { success }]) => Number(success))),
    reward: meanOf(scores.map(([, { reward }]) => reward)),
    example,
  };
}

/** The fields of tasks whose values are right answers, and are in what the model is shown. */
async function leaksIn<T extends TaskRequest>(tasks: readonly T[], trial: Trial<T>): Promise<AgentCheckReport["leaks"]> {
  const leaks: AgentCheckReport["leaks"][number][] = [];
  for (const field of answerFields(tasks).keys()) {
    const leaking = [...(await trial.play(oracleOf(field)))].filter(
      ([task, { success }]) =>
        success && stands(String((task as unknown as Record<string, unknown>)[field]), trial.shown.get(task) ?? task.prompt),
    );
    if (leaking[0] !== undefined) leaks.push({ field, tasks: leaking.length, example: leaking[0][0].prompt });
  }
  return leaks;
}

interface TrialParts<T extends TaskRequest> {
  readonly check: AgentCheck<T>;
  readonly server: RunningInference;
  readonly byKey: Map<string, InferenceModel>;
  readonly agent: AttemptingAgent<T>;
}

/** An agent with an endpoint in place of its model, at which lazy policies answer, and what was seen of it. */
class Trial<T extends TaskRequest> {
  readonly tools = new Set<string>();
  /** The first conversation of each task. */
  readonly shown = new Map<T, string>();
  /** The number of policies that solve each task that was attempted. */
  readonly solvers = new Map<T, number>();
  readonly errors: Record<string, number> = {};
  readonly #parts: TrialParts<T>;
  #hasParameters = false;
  readonly #heard = { attempts: 0, silent: 0 };
  /** The first error that the agent raised by itself before it asked a model. */
  #failure: string | undefined;
  /** Counts of the policies that call tools. */
  readonly #asked = { attempts: 0, requests: 0, tokens: 0 };

  private constructor(parts: TrialParts<T>) {
    this.#parts = parts;
  }

  static async open<T extends TaskRequest>(check: AgentCheck<T>, signal: AbortSignal): Promise<Trial<T>> {
    const { agent, reward, timeoutMs = 30_000 } = check;
    const byKey = new Map<string, InferenceModel>();
    const server = await serveByKey(byKey);
    try {
      const opened = await openAgent<T>({ agent, reward, timeoutMs, signal }, { baseUrl: `${server.baseUrl}/v1` });
      return new Trial({ check, server, byKey, agent: opened });
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  /** No policy plays an agent that asks another server: each attempt may wait for that one. */
  get isDeaf(): boolean {
    const { attempts, silent } = this.#heard;
    return attempts > 0 && silent === attempts;
  }

  /** Requests of an attempt, and tokens of the longest. */
  get asks(): AgentCheckReport["asks"] {
    const { attempts, requests, tokens } = this.#asked;
    return { requests: attempts === 0 ? 1 : requests / attempts, tokens };
  }

  /** Plays a policy against the tasks, as many as its time allows. @returns the scores of those that have one */
  async play(policy: LazyPolicy): Promise<Map<T, Score>> {
    const { tasks, policyMs = 6_000, concurrency = 4, onProgress = () => {} } = this.#parts.check;
    onProgress(policy.name);
    const until = performance.now() + policyMs;
    const places = new Semaphore(concurrency);
    const scores = new Map<T, Score>();
    const one = async (task: T) => {
      if (performance.now() > until) return;
      const outcome = await this.#attempt(policy, task);
      if (outcome.kind === "error") this.errors[outcome.error] = (this.errors[outcome.error] ?? 0) + 1;
      else scores.set(task, outcome);
    };
    await Promise.all(tasks.map((task) => places.run(() => one(task))));
    return scores;
  }

  async #attempt(policy: LazyPolicy, task: T): Promise<Outcome> {
    const apiKey = newKey();
    let refusal: string | undefined;
    let requests = 0;
    const model = messageModel(
      async (request) => {
        requests++;
        const shown = (request.tools ?? []).map((tool) => ({ ...tool, parameters: parametersAsJsonSchema(tool) }));
        for (const { name, parameters } of shown) {
          this.tools.add(name);
          this.#hasParameters ||= Object.keys(parameters.properties ?? {}).length > 0;
        }
        if (!this.shown.has(task)) this.shown.set(task, request.messages.map(({ content }) => content).join("\n"));
        this.#asked.tokens = Math.max(this.#asked.tokens, tokensOf(request.messages, shown));
        const message = lazyAnswer(policy, request, task);
        emit(message, request);
        return wholeReply(message);
      },
      (error) => {
        if (error instanceof RetrogradeError && !(error instanceof HttpError && error.code === unknownRoute))
          refusal ??= reasonOf(error);
      },
    );
    const { byKey, agent } = this.#parts;
    byKey.set(apiKey, model);
    const fault = () => (refusal === undefined ? undefined : `a request of the agent was refused: ${refusal}`);
    const { outcome } = await agent.attempt(task, { apiKey, fault, end: () => byKey.delete(apiKey) });
    this.#heard.attempts++;
    if (requests === 0) {
      this.#heard.silent++;
      if (outcome.kind === "score") this.#failure ??= outcome.failure;
    }
    if (policy.calls === true) {
      this.#asked.attempts++;
      this.#asked.requests += requests;
    }
    return outcome;
  }

  /** Says so where attempts asked no model. */
  silence(): string[] {
    const { attempts, silent } = this.#heard;
    if (silent === 0) return [];
    const way =
      this.#failure === undefined
        ? "Give the agent's client the `baseUrl` and `apiKey` of the agent's second argument (docs/agents.md)."
        : `The agent failed before: ${this.#failure}${/[.!?]$/.test(this.#failure) ? "" : "."}`;
    const rest = this.isDeaf ? " Nothing else was checked." : "";
    return [`${silent} of ${plural(attempts, "attempt")} asked no model at our address. ${way}${rest}`];
  }

  /** Says so where a model can only guess arguments: a framework that cannot convert a schema may send an empty one. */
  emptySchemas(): string[] {
    if (this.tools.size === 0 || this.#hasParameters) return [];
    return [
      `No tool of ${[...this.tools].join(", ")} shows the model a parameter. If yours have some, the agent's framework sends empty schemas: it ` +
        "may be made for another version of its schema library, such as zod 3.",
    ];
  }

  async close(): Promise<void> {
    await this.#parts.agent.close();
    await this.#parts.server.close();
  }
}

function findingsOf(
  { equalPrompts: equal, leaks, errors, tasks }: Omit<AgentCheckReport, "findings">,
  results: readonly Played[],
): string[] {
  const example = (prompt = "") => JSON.stringify(prompt.slice(0, 100));
  const paid = results.filter(({ success, isSilent }) => success > (isSilent ? 0 : holeShare));
  const constants = paid.filter(({ advice }) => advice === constantAdvice).sort((a, b) => b.success - a.success);
  const holes = paid.filter((result) => result.advice !== constantAdvice || result === constants[0]);
  const failed = Object.entries(errors).filter(([reason]) => reason.startsWith(rewardError));
  return [
    ...holes.map(
      ({ policy, success, tasks: of, example: prompt, advice = otherAdvice }) =>
        `A policy that ${policy} solves ${Math.round(success * of)} of ${of} tasks, such as ${example(prompt)}. ${advice}`,
    ),
    ...leaks.map(
      ({ field, tasks: of, example: prompt }) =>
        `In ${of} of ${tasks} tasks the answer is in what the model is shown: \`${field}\`, as in ${example(prompt)}.`,
    ),
    ...equal.map(
      ({ prompt, tasks: of }) =>
        `${of} tasks have the prompt ${example(prompt)} and want different things: no model can distinguish them.`,
    ),
    ...failed.map(
      ([reason, times]) =>
        `The reward raised an error ${times} times (${reason.slice(rewardError.length)}): such an episode has no score. A model gives odd answers too.`,
    ),
  ];
}

/** True where a text has a value as a word of its own. */
function stands(value: string, text: string): boolean {
  const at = text.toLowerCase().indexOf(value.toLowerCase());
  const edge = (char: string | undefined) => char === undefined || !/[\p{L}\p{N}]/u.test(char);
  return value !== "" && at >= 0 && edge(text[at - 1]) && edge(text[at + value.length]);
}

function equalPrompts(tasks: readonly TaskRequest[]): AgentCheckReport["equalPrompts"] {
  const counts = new Map<string, number>();
  for (const { prompt } of tasks) counts.set(prompt, (counts.get(prompt) ?? 0) + 1);
  return [...counts].flatMap(([prompt, times]) => (times > 1 ? [{ prompt, tasks: times }] : []));
}

/** Characters of a token, of English and JSON. */
const charactersPerToken = 3.5;

function tokensOf(messages: ConversationRequest["messages"], tools: readonly Tool[]): number {
  const shown = tools.map(({ name, description, parameters }) => [name, description, parameters]);
  return Math.ceil((JSON.stringify(messages).length + JSON.stringify(shown).length) / charactersPerToken);
}

/** 0 of none: a policy whose attempts have no score. */
function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : mean(values);
}
