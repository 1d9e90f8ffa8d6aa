import type { AssistantMessage, Message } from "../../src/core/messages.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Score } from "../../src/environments/environment.ts";
import { drawSlips, type SlipChance } from "../../src/environments/habits.ts";
import type { Step } from "../../src/environments/plan.ts";
import { type OfficeEpisode, startEpisode } from "./episode.ts";
import type { Habit, Mind } from "./expert.ts";
import { completeSettings, officeSettingsSchema } from "./settings.ts";
import { drawTask, type OfficeTask } from "./task.ts";

export type Slip = SlipChance<Habit>;

export interface Demonstration {
  readonly task: OfficeTask;
  readonly messages: readonly Message[];
  /** The habits that the expert fell into. */
  readonly slipped: readonly Habit[];
  readonly score: Score;
}

/** Plays a task as the expert does, or as an expert with bad habits. */
export function demonstrate(task: OfficeTask, random: Random, { slip = 0 }: { readonly slip?: Slip } = {}): Demonstration {
  const { slips, slipped } = drawSlips<Habit>(random, slip);
  const mind: Mind = { slips };
  const episode = startEpisode(task, "sparse");
  const messages = [...episode.messages];
  for (const request of task.requests) {
    const plan = request.solve(mind);
    let step = plan.next();
    while (!step.done) step = plan.next(answerTo(step.value, episode, messages));
    say(step.value, episode, messages);
  }
  return { task, messages, slipped, score: episode.score() };
}

/**
 * Demonstrations without end, for supervised fine-tuning: tasks of the training split, anywhere in it.
 * @param settings as of the environment
 */
export function* demonstrations(
  settings: unknown,
  seed: number,
  options: { readonly slip?: Slip } = {},
): Generator<Demonstration, never, undefined> {
  const resolved = completeSettings(parseSettings(officeSettingsSchema, settings, "environment.settings"));
  const indices = randomStream(seed, "office", "demonstrations");
  const slips = randomStream(seed, "office", "slips");
  for (;;) yield demonstrate(drawTask(resolved, "train", indices.integer(2 ** 31 - 1)), slips, options);
}

const context = { signal: new AbortController().signal };

/** Returns the answer of a tool or the user to a step of the expert's. */
function answerTo(step: Step, episode: OfficeEpisode, messages: Message[]): string {
  if (typeof step === "string") return say(step, episode, messages);
  const result = episode.tools.find((tool) => tool.name === step.name)?.execute(step.arguments, context);
  const content = typeof result === "string" ? result : JSON.stringify(result);
  messages.push({ role: "assistant", content: "", toolCalls: [step] }, { role: "tool", name: step.name, content });
  return content;
}

/** Says something to the user. @returns what the user says next, "" at the end */
function say(content: string, episode: OfficeEpisode, messages: Message[]): string {
  const message: AssistantMessage = { role: "assistant", content };
  const reply = episode.reply(message);
  messages.push(message);
  if (reply.done) return "";
  messages.push(...reply.messages);
  return reply.messages.map(({ content }) => content).join();
}
