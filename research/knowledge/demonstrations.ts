import { chanceOf, drawSlips, type SlipChance } from "../../extensions/office/habits.ts";
import type { Message } from "../../src/core/messages.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Score } from "../../src/environments/environment.ts";
import type { OneMessageProtocol } from "../../src/environments/protocol.ts";
import { closed, type Ending, type ExpertChoices, type Habit, type QueryStyle, queryStyles, type Step } from "./expert.ts";
import type { KindName } from "./kinds.ts";
import { completeSettings, type KnowledgeSettings, knowledgeSettingsSchema } from "./settings.ts";
import { startOf } from "./start.ts";
import { drawTask, type KnowledgeTask } from "./task.ts";

export type Slip = SlipChance<Habit>;

export interface ExpertOptions {
  readonly slip?: Slip;
  /** In questions of these kinds the expert takes more care. */
  readonly careful?: { readonly kinds: readonly KindName[]; readonly slip: Slip };
  /** The chance that an expression is cut short first, fails, and is written again. */
  readonly stumble?: number;
  /** How often queries are written in which style, as weights; always in full if left out. */
  readonly queries?: { readonly [S in QueryStyle]?: number };
}

export interface Demonstration {
  readonly task: KnowledgeTask;
  readonly messages: readonly Message[];
  readonly protocol: OneMessageProtocol;
  /** The habits that the expert fell into. */
  readonly slipped: readonly Habit[];
  /** Assistant turns, from 0, that are not to be imitated: calls that failed. */
  readonly stumbles: readonly number[];
  readonly score: Score;
}

/** Plays a task as the expert does, or as an expert with bad habits. Calculations are those of the calculator. */
export function demonstrate(
  task: KnowledgeTask,
  settings: KnowledgeSettings,
  random: Random,
  { slip = 0, careful, queries = { full: 1 }, stumble = 0 }: ExpertOptions = {},
): Demonstration {
  const isCareful = careful?.kinds.includes(task.kind) ?? false;
  const { slips, slipped } = drawSlips<Habit>(random, (habit) => chanceOf(careful && isCareful ? careful.slip : slip, habit));
  const choices: ExpertChoices = { slips, queryStyle: () => drawStyle(random, queries) };
  const { protocol, tools, ...episode } = startOf({ ...settings, calculator: "expressions" })(task);
  const messages = [...episode.messages];
  const stumbles: number[] = [];
  const make = (step: Step) => {
    const { call } = step;
    const content = String(tools.find(({ name }) => name === call.name)?.execute(call.arguments, context));
    messages.push({ role: "assistant", content: actionOf(step), toolCalls: [call] });
    messages.push({ role: "tool", name: call.name, content });
    return content;
  };
  const plan = closed(task.solve({ corpus: task.corpus, choices }));
  let step = plan.next();
  while (!step.done) {
    const { thought, call } = step.value;
    if (call.name === "python" && random.chance(stumble)) {
      stumbles.push(messages.filter(({ role }) => role === "assistant").length);
      make({ thought, call: { ...call, arguments: { code: String(call.arguments.code).replace(/ \d+$/, "") } } });
    }
    step = plan.next(make(step.value));
  }
  messages.push({ role: "assistant", content: endingOf(step.value) });
  return { task, messages, protocol, slipped, stumbles, score: episode.score(messages) };
}

/**
 * Demonstrations without end, for supervised fine-tuning: tasks of the training split, anywhere in it.
 * @param settings as of the environment
 */
export function* demonstrations(
  settings: unknown,
  seed: number,
  options: ExpertOptions = {},
): Generator<Demonstration, never, undefined> {
  const resolved = completeSettings(parseSettings(knowledgeSettingsSchema, settings, "environment.settings"));
  const indices = randomStream(seed, "knowledge", "demonstrations");
  const minds = randomStream(seed, "knowledge", "minds");
  for (;;) yield demonstrate(drawTask(resolved, "train", indices.integer(2 ** 31 - 1)), resolved, minds, options);
}

const context = { signal: new AbortController().signal };

function actionOf({ thought, call: { name, arguments: args } }: Step): string {
  return `<think> ${thought} </think><${name}> ${String(name === "search" ? args.query : args.code)} </${name}>`;
}

function endingOf({ thought, answer }: Ending): string {
  return `<think> ${thought} </think><answer> \\boxed{ ${answer} } </answer>`;
}

function drawStyle(random: Random, weights: NonNullable<ExpertOptions["queries"]>): QueryStyle {
  const weight = (style: QueryStyle) => weights[style] ?? 0;
  let left = random.uniform() * queryStyles.reduce((sum, style) => sum + weight(style), 0);
  return queryStyles.find((style) => (left -= weight(style)) < 0) ?? "full";
}
