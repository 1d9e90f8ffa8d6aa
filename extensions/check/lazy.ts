import { reasonOf } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import { reachesOne } from "../../src/core/outcome.ts";
import type { UserCodeLimits } from "../../src/core/user-code.ts";
import type { Environment, Lazy, Performance, Task } from "../../src/environments/environment.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { parametersAsJsonSchema, type Tool } from "../../src/tools/tool.ts";
import { playScript, words } from "./play.ts";

/** A choice that a policy can make without looking: always in the same way. */
interface Choice {
  /** The behaviour, or the argument of a tool: "book_room.rate". */
  readonly name: string;
  readonly answers: readonly Answer[];
}

/** One way of making it: a behaviour never or always shown, or an argument that is always the same. */
export interface Answer {
  readonly name: string;
  readonly behaviour?: readonly [name: string, how: Lazy];
  readonly argument?: { readonly tool: string; readonly key: string; readonly value: unknown };
}

/** Success of a policy that does everything right and makes one choice without looking, in the way that pays best. */
export interface LazyChoice {
  readonly name: string;
  readonly answer: string;
  readonly success: Estimate;
  /** The share of the tasks in which the choice comes up, and success in these. */
  readonly tasks: number;
  readonly where: Estimate;
}

export interface LazyReport {
  readonly choices: readonly LazyChoice[];
  /** Success of a policy that makes one, two, … all of the choices without looking, those first that cost it least. */
  readonly combined: readonly { readonly name: string; readonly success: Estimate }[];
  /** Sentences about what could not be varied, and why. */
  readonly leftOut: readonly string[];
}

interface Tasks {
  /** Constants are searched on these, */
  readonly searched: readonly Task[];
  /** and measured on these. */
  readonly measured: readonly Task[];
}

/** The success of a performance: 1 or 0. */
export function successOf({ reward, scores }: Performance["score"]): number {
  return Number(reachesOne(scores?.success ?? reward));
}

/**
 * Searches for what a clever lazy policy would do: for each choice the constant answer that pays best, among all that the tool or the behaviour
 * has, and these together.
 */
export async function searchLazyPolicies(
  environment: Environment,
  tools: readonly Tool[],
  { searched, measured }: Tasks,
  limits: UserCodeLimits,
  share: (values: readonly number[]) => Estimate,
): Promise<LazyReport> {
  const leftOut: string[] = [];
  const play = (task: Task, answers: readonly Answer[]) => playLazily(environment, task, answers, limits);
  const rewards = async (tasks: readonly Task[], answers: readonly Answer[]) => {
    const all: number[] = [];
    for (const task of tasks) all.push((await play(task, answers)).success);
    return all;
  };
  const right = measured.map((task) => environment.expert?.play(task) as Performance);
  const found: (LazyChoice & { readonly best: Answer; readonly cost: number })[] = [];
  for (const { name, answers } of choicesOf(environment, tools, measured, right, leftOut)) {
    const tried: { answer: Answer; success: number; comesUp: readonly boolean[] }[] = [];
    for (const answer of answers) {
      try {
        const comesUp: boolean[] = [];
        for (const [i, task] of measured.entries())
          comesUp.push(differs(right[i]?.messages ?? [], (await play(task, [answer])).messages));
        tried.push({ answer, success: mean(await rewards(searched, [answer])), comesUp });
      } catch (problem) {
        leftOut.push(
          `${answer.behaviour === undefined ? "" : `${name}, `}${answer.name}: left out, since playing it failed: ${reasonOf(problem)}`,
        );
      }
    }
    const comesUp = measured.map((_, i) => tried.some((one) => one.comesUp[i]));
    const [best] = tried.sort((a, b) => b.success - a.success);
    if (best === undefined) continue;
    if (!comesUp.includes(true)) {
      leftOut.push(`${name}: left out, since varying it changes no episode.`);
      continue;
    }
    const reached = await rewards(measured, [best.answer]);
    found.push({
      ...{ name, answer: best.answer.name, success: share(reached), best: best.answer, cost: 1 - best.success },
      ...{ tasks: mean(comesUp.map(Number)), where: share(reached.filter((_, i) => comesUp[i])) },
    });
  }
  const order = [...found].sort((a, b) => a.cost - b.cost);
  const combined: { name: string; success: Estimate }[] = [];
  for (const [i, { name }] of order.entries())
    combined.push({
      name,
      success: share(
        await rewards(
          measured,
          order.slice(0, i + 1).map(({ best }) => best),
        ),
      ),
    });
  return { choices: found.map(({ best: _, cost: __, ...choice }) => choice), combined, leftOut };
}

/** The choices that can be varied: behaviours, and arguments of tools that are one of a few values. A behaviour that is the choice of an argument is named once. */
function choicesOf(
  { expert, name }: Environment,
  tools: readonly Tool[],
  tasks: readonly Task[],
  right: readonly Performance[],
  leftOut: string[],
): Choice[] {
  if (expert === undefined) return [];
  if (expert.behaviours.length === 0) leftOut.push(`The expert of "${name}" names no behaviour: none could be varied.`);
  const ofArguments = new Map<string, Choice>(tools.flatMap(argumentChoices).map((choice) => [choice.name, choice]));
  const called = new Set(right.flatMap(({ messages }) => callsOf(messages).map((call) => call.name)));
  const fixed = tools.filter((tool) => called.has(tool.name) && argumentChoices(tool).length === 0).map((tool) => tool.name);
  if (fixed.length > 0) leftOut.push(`No argument of ${fixed.join(", ")} is one of a few values: none was held constant.`);
  const ofBehaviours = expert.behaviours.map((behaviour): Choice => {
    const ways: readonly Lazy[] = expert.always?.includes(behaviour) ? ["never", "always"] : ["never"];
    const answers = ways.map((how): Answer => ({ name: how, behaviour: [behaviour, how] }));
    if (answers.length > 1) return { name: behaviour, answers };
    const same = argumentThatDiffers(right, () => tasks.map((task) => expert.play(task, { [behaviour]: "never" })));
    const choice = ofArguments.get(same ?? "");
    if (choice === undefined) return { name: behaviour, answers };
    ofArguments.delete(choice.name);
    return { name: behaviour, answers: choice.answers };
  });
  return [...ofBehaviours, ...[...ofArguments.values()].filter((choice) => called.has(choice.answers[0]?.argument?.tool ?? ""))];
}

function argumentChoices(tool: Tool): Choice[] {
  const { properties = {} } = parametersAsJsonSchema(tool) as {
    properties?: Record<string, { type?: string; enum?: unknown[] }>;
  };
  return Object.entries(properties).flatMap(([key, { type, enum: values = type === "boolean" ? [true, false] : [] }]) => {
    const name = `${tool.name}.${key}`;
    const answers = values.map((value): Answer => ({ name: `${name} = ${value}`, argument: { tool: tool.name, key, value } }));
    return answers.length > 1 ? [{ name, answers }] : [];
  });
}

/** The one argument in which all episodes first differ from the right ones; undefined if there is none. */
function argumentThatDiffers(right: readonly Performance[], playAll: () => readonly Performance[]): string | undefined {
  let others: readonly Performance[];
  try {
    others = playAll();
  } catch {
    return undefined;
  }
  const places = others.map(({ messages }, i) => {
    const expected = right[i]?.messages ?? [];
    const at = expected.findIndex((message, m) => JSON.stringify(message) !== JSON.stringify(messages[m]));
    if (at < 0) return "";
    const [[a], [b]] = [callsOf(expected.slice(at, at + 1)), callsOf(messages.slice(at, at + 1))];
    if (a === undefined || a.name !== b?.name) return undefined;
    const keys = Object.keys(a.arguments).filter((key) => a.arguments[key] !== b.arguments[key]);
    return keys.length === 1 ? `${a.name}.${keys[0]}` : undefined;
  });
  const [place, ...more] = new Set(places.filter((place) => place !== ""));
  return more.length === 0 ? place : undefined;
}

/** Plays a task right but for some answers. @returns success, and the messages that were written */
async function playLazily(
  environment: Environment,
  task: Task,
  answers: readonly Answer[],
  limits: UserCodeLimits,
): Promise<{ readonly success: number; readonly messages: readonly Message[] }> {
  const lazy = Object.fromEntries(answers.flatMap(({ behaviour }) => (behaviour === undefined ? [] : [behaviour])));
  const { messages, score } = (environment.expert as NonNullable<Environment["expert"]>).play(task, lazy);
  const held = answers.flatMap(({ argument }) => (argument === undefined ? [] : [argument]));
  const hold = (call: ToolCall): ToolCall => {
    const ours = held.filter(({ tool, key }) => tool === call.name && key in call.arguments);
    return { ...call, arguments: { ...call.arguments, ...Object.fromEntries(ours.map(({ key, value }) => [key, value])) } };
  };
  const changed = messages.map((message) =>
    message.role === "assistant" && message.toolCalls !== undefined
      ? { ...message, toolCalls: message.toolCalls.map(hold) }
      : message,
  );
  if (!differs(messages, changed)) return { success: successOf(score), messages };
  const said = changed.filter((message): message is AssistantMessage => message.role === "assistant");
  let at = 0;
  return { success: successOf(await playScript(environment, task, () => said[at++] ?? words(""), limits)), messages: changed };
}

const callsOf = (messages: readonly Message[]): readonly ToolCall[] =>
  messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));

const differs = (a: readonly Message[], b: readonly Message[]) => JSON.stringify(a) !== JSON.stringify(b);
