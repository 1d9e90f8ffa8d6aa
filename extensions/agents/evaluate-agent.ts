import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { optionsDoor } from "../../src/core/door.ts";
import { ConfigError } from "../../src/core/errors.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import { present } from "../../src/core/present.ts";
import { seedOf } from "../../src/core/random.ts";
import { withoutSecrets } from "../../src/core/secrets.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { sha256 } from "../../src/files/code-digests.ts";
import { decodeTrajectory, encodeTrajectory } from "../../src/runs/trajectory-file.ts";
import { type AttemptingAgent, guardedAgent, openAgent } from "./agent-attempts.ts";
import { type OpenAgentRun, openAgentRun } from "./agent-run.ts";
import { withOwnModels } from "./intercept.ts";
import { type MeasuredAgent, type MeasureOptions, measure, type Place } from "./measure.ts";
import type { RecordHead } from "./record-file.ts";
import { openRelay } from "./relay.ts";
import type { AgentEndpoint, ServedModelOptions } from "./served-agent-model.ts";
import { type AgentTraining, codeOf, isProgram } from "./train-agent.ts";
import { trajectoryOf } from "./trajectory.ts";

export interface AgentEvaluation<T extends TaskRequest = TaskRequest>
  extends Pick<AgentTraining<T>, "agent" | "reward">,
    MeasureOptions,
    ServedModelOptions {
  readonly tasks: readonly T[];
  /** The model that the agent calls. Default: whichever it calls by itself. */
  readonly endpoint?: AgentEndpoint;
  /** A model of this machine instead: a folder, a run's folder or a name, as in `train`. It is served while the agent is measured. */
  readonly model?: string;
  /**
   * A new folder for a run of it: its episodes for `trajectory`, `runs show`, `runs compare` and the dashboard. Default: nothing is written. Where an
   * evaluation was ended, the same one continues: attempts that have a score are not played again.
   */
  readonly out?: string;
  /** The split that the tasks are of, for the run. Default "test". */
  readonly split?: string;
}

/** A measurement, and what was said in it. */
export interface EvaluatedAgent<T> extends MeasuredAgent<T> {
  /** Attempts of an evaluation that was ended. */
  readonly resumed: number;
  /** Every attempt, in the order of the tasks: the agent's last conversation with its model, or the task and the answer where its own was called. */
  readonly episodes: readonly Trajectory[];
}

/**
 * Measures an agent on tasks: with the model of an endpoint or of this machine, reached as in `trainAgent`, or with its own.
 * @example
 * const tasks = [{ prompt: "When do I have Demo?", time: "14:30" }];
 * const agent = async (prompt: string) => `Ask me another time: ${prompt}`;
 * const reward = ({ task, answer }: AgentEnd<(typeof tasks)[number]>) => (String(answer).includes(task.time) ? 1 : 0);
 * const { success, allSucceed } = await evaluateAgent({ agent, tasks, reward, k: 5 });
 * @throws ConfigError for a module that is no agent, or a setting that there is not; RangeError without tasks; MeasurementError where every attempt
 * ended by an error of a server, the network or the reward. Such attempts have no score; what an agent throws by itself is its failure, with the
 * reward 0; RunError where `out` is taken
 */
export function evaluateAgent<T extends TaskRequest>(evaluation: AgentEvaluation<T>): Promise<EvaluatedAgent<T>> {
  return evaluated(evaluation, guardedAgent);
}

/** As `evaluateAgent`, followed. @param onOutcome receives each attempt's outcome as it ends, those of an earlier call too */
export function evaluateFollowed<T extends TaskRequest>(
  evaluation: AgentEvaluation<T>,
  onOutcome: (outcome: Outcome) => void,
): Promise<EvaluatedAgent<T>> {
  return evaluated(evaluation, guardedAgent, onOutcome);
}

/** As `evaluateAgent`, in a test runner: it watches for stray errors itself, and those of another test are no fault of this agent. */
export function evaluateInTest<T extends TaskRequest>(evaluation: AgentEvaluation<T>): Promise<EvaluatedAgent<T>> {
  return evaluated(evaluation, ({ signal = new AbortController().signal }, work) => work(signal));
}

async function evaluated<T extends TaskRequest>(
  evaluation: AgentEvaluation<T>,
  guard: typeof guardedAgent,
  onOutcome: (outcome: Outcome) => void = () => {},
): Promise<EvaluatedAgent<T>> {
  refuseUnknown({ ...evaluation });
  const { model, engine, temperature, seed = 1, out, split = "test", ...rest } = evaluation;
  for (const [name, value] of Object.entries({ engine, temperature, seed: evaluation.seed }))
    if (model === undefined && value !== undefined)
      throw new ConfigError(name, value, {
        expected: "none: it is of a `model` of this machine; others sample as the agent asks",
      });
  const run = out === undefined ? undefined : openAgentRun(out, originOf(evaluation));
  // Attempts that were played have had the first draws of this seed: other attempts at the same tasks must not repeat them.
  const draws = run?.known.size ? seedOf(seed, "continued", run.known.size) : seed;
  try {
    const started = performance.now();
    // The engine is loaded where one is needed: a program that measures an endpoint has none.
    const served =
      model === undefined
        ? undefined
        : await (await import("./served-agent-model.ts")).serveToAgents(model, { engine, temperature, seed: draws });
    const found = await guard(rest, (signal) =>
      measured({ ...rest, endpoint: served ?? rest.endpoint, signal }, split, run, onOutcome),
    ).finally(() => served?.close());
    const seconds = (performance.now() - started) / 1000;
    run?.write(found, { agent: nameOf(rest.agent), model: model ?? rest.endpoint?.name, split, temperature, seconds });
    return found;
  } finally {
    run?.close();
  }
}

function nameOf(agent: AgentEvaluation["agent"]): string {
  if (typeof agent === "string") return agent;
  return isProgram(agent) ? agent.command.join(" ") : "a function";
}

const refuseUnknown = optionsDoor<AgentEvaluation>("evaluateAgent", {
  ...{ agent: true, reward: true, tasks: true, endpoint: true, model: true, engine: true, temperature: true, seed: true },
  ...{ k: true, concurrency: true, timeoutMs: true, signal: true, out: true, split: true },
});

async function measured<T extends TaskRequest>(
  evaluation: Omit<AgentEvaluation<T>, "model" | "out" | "split" | keyof ServedModelOptions> & { readonly signal: AbortSignal },
  split: string,
  run: OpenAgentRun | undefined,
  onOutcome: (outcome: Outcome) => void,
): Promise<EvaluatedAgent<T>> {
  const { agent, reward, tasks, endpoint, timeoutMs, signal, ...options } = evaluation;
  const release = endpoint === undefined ? withOwnModels() : undefined;
  const relay = endpoint === undefined ? undefined : await openRelay(endpoint);
  let opened: AttemptingAgent<T> | undefined;
  try {
    const model = relay && { baseUrl: relay.baseUrl, name: endpoint?.name };
    const played = await openAgent<T>({ agent, reward, timeoutMs, signal }, model);
    opened = played;
    const { k = 1 } = options;
    const names = tasks.map((task) => taskName(task, split));
    const episodes: Trajectory[] = [];
    let resumed = 0;
    const attempt = async (task: T, { task: i, attempt: j }: Place) => {
      const id = `after-${split}-0/${i}/${j}`;
      const known = run?.known.get(id);
      if (known !== undefined) {
        resumed++;
        episodes[i * k + j] = decodeTrajectory(known.episode);
        onOutcome(known.outcome);
        return known.outcome;
      }
      const way = relay?.open();
      const { outcome, answer } = await played.attempt(task, way);
      const of = { id, group: `${split}/${i}`, task: present(names[i], "a name"), prompt: task.prompt };
      const episode = trajectoryOf(of, { outcome, answer, exchanges: way?.exchanges() ?? [] });
      run?.add({ id, outcome, episode: encodeTrajectory(episode) });
      episodes[i * k + j] = episode;
      onOutcome(outcome);
      return outcome;
    };
    const found = await measure(tasks, attempt, { ...options, scoredBy: codeOf(reward) });
    return { ...found, resumed, episodes };
  } finally {
    await opened?.close();
    await relay?.close();
    release?.();
  }
}

/** Whose attempts they are: those of another evaluation are not mixed with them. */
function originOf<T extends TaskRequest>(evaluation: AgentEvaluation<T>): RecordHead {
  const { model, endpoint, temperature = "as asked", seed = 1, tasks, agent, reward } = evaluation;
  const own = endpoint === undefined ? "the agent's own" : `${endpoint.name ?? "a model"} at ${withoutSecrets(endpoint.baseUrl)}`;
  return {
    model: model === undefined ? own : `${model}${weightsTime(model)}, temperature ${temperature}, seed ${seed}`,
    ...{ tasks: sha256(JSON.stringify(tasks)), agent: sha256(codeOf(agent)), scoredBy: sha256(codeOf(reward)) },
  };
}

/** When the weights of a model on this machine were written: a folder may get others between two calls. */
function weightsTime(model: string): string {
  if (!existsSync(model)) return "";
  const files = statSync(model).isFile()
    ? [model]
    : readdirSync(model, { recursive: true }).map((file) => join(model, String(file)));
  const weights = files.filter((file) => /\.(safetensors|gguf)$/.test(file));
  return `, written ${new Date(Math.max(...weights.map((file) => statSync(file).mtimeMs), 0)).toISOString()}`;
}

/** A task's name in comparisons, by its content: another file may have another task in its place. */
export function taskName(task: TaskRequest, split: string): string {
  return `${split}/${sha256(JSON.stringify(task)).slice(0, 10)}`;
}
