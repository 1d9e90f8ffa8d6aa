import { z } from "zod";
import { reasonOf } from "../../src/core/errors.ts";
import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import { present } from "../../src/core/present.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Score } from "../../src/environments/environment.ts";
import { type OfficeEpisode, startEpisode } from "./episode.ts";
import type { ExpertState, Habit } from "./expert.ts";
import { chanceOf, drawSlips, type SlipChance } from "./habits.ts";
import type { KindName } from "./kinds.ts";
import type { Step } from "./plan.ts";
import { completeSettings, officeSettingsSchema } from "./settings.ts";
import { drawTask, type OfficeTask } from "./task.ts";
import { wordsOf } from "./vocabulary.ts";

export interface DemonstrationOptions {
  readonly slip?: SlipChance<Habit>;
  /** In requests of these kinds the expert takes more care. */
  readonly careful?: { readonly kinds: readonly KindName[]; readonly slip: SlipChance<Habit> };
  /** The share of the wrong choices among folders and couriers that falls on the favourite. */
  readonly favourite?: number;
  /** The chance that a call is written wrongly first, fails, and is made again. */
  readonly stumble?: number;
  /**
   * The share of tasks with names, titles and greetings of the challenge split: a model must have seen a word to spell it. Phrasings and
   * pairs of requests stay those of training.
   */
  readonly foreignWords?: number;
}

export interface Demonstration {
  readonly task: OfficeTask;
  readonly messages: readonly Message[];
  /** The habits that the expert fell into. */
  readonly slipped: readonly Habit[];
  /** Assistant turns, from 0, that are not to be imitated: calls that failed. */
  readonly stumbles: readonly number[];
  readonly score: Score;
}

/** Plays a task as the expert does, or as an expert with bad habits. */
export function demonstrate(
  task: OfficeTask,
  random: Random,
  { slip = 0, careful, favourite = 1, stumble = 0 }: DemonstrationOptions = {},
): Demonstration {
  let kind = present(task.kinds[0], "the first request's kind");
  const { slips, slipped } = drawSlips<Habit>(random, (habit) =>
    chanceOf(careful?.kinds.includes(kind) ? careful.slip : slip, habit),
  );
  const state: ExpertState = {
    slips,
    chooses(habit, right, liked, all) {
      if (!slips(habit)) return right;
      const others = all.filter((choice) => choice !== right);
      const choice = random.chance(favourite) ? liked : random.pick(others);
      if (choice === right) slipped.pop();
      return choice;
    },
  };
  const episode = startEpisode(task, { reward: "sparse", prompt: "short" });
  const messages = [...episode.messages];
  const stumbles: number[] = [];
  for (const request of task.requests) {
    kind = request.kind;
    const plan = request.solve(state);
    let step = plan.next();
    while (!step.done) {
      if (typeof step.value !== "string" && random.chance(stumble)) {
        stumbles.push(messages.filter(({ role }) => role === "assistant").length);
        messages.push(...failedCall(step.value, episode, random));
      }
      step = plan.next(answerTo(step.value, episode, messages));
    }
    say(step.value, episode, messages);
  }
  return { task, messages, slipped, stumbles, score: episode.score() };
}

/**
 * Demonstrations without end, for supervised fine-tuning: tasks of the training split, anywhere in it.
 * @param settings as of the environment
 */
export function* demonstrations(
  settings: unknown,
  seed: number,
  options: DemonstrationOptions = {},
): Generator<Demonstration, never, undefined> {
  const resolved = completeSettings(parseSettings(officeSettingsSchema, settings, "environment.settings"));
  const indices = randomStream(seed, "office", "demonstrations");
  const slips = randomStream(seed, "office", "slips");
  for (;;) {
    const words = wordsOf(slips.chance(options.foreignWords ?? 0) ? "challenge" : "train");
    yield demonstrate(drawTask(resolved, "train", indices.integer(2 ** 31 - 1), words), slips, options);
  }
}

const context = { signal: new AbortController().signal };

/** Returns the answer of a tool or the user to a step of the expert's. */
function answerTo(step: Step, episode: OfficeEpisode, messages: Message[]): string {
  if (typeof step === "string") return say(step, episode, messages);
  const content = execute(step, episode);
  messages.push({ role: "assistant", content: "", toolCalls: [step] }, { role: "tool", name: step.name, content });
  return content;
}

function execute(call: ToolCall, episode: OfficeEpisode): string {
  const result = episode.tools.find((tool) => tool.name === call.name)?.execute(call.arguments, context);
  return typeof result === "string" ? result : JSON.stringify(result);
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

/** The same call written wrongly, and what the rollout answers to it: an id that nothing has, an argument left out, or no JSON. */
function failedCall({ name, arguments: args }: ToolCall, episode: OfficeEpisode, random: Random): Message[] {
  const [key, value] = random.pick([...Object.entries(args), ["", undefined] as const]);
  if (typeof value === "string" && /^[a-z]\d\d$/.test(value) && random.chance(0.5)) {
    const call: ToolCall = { name, arguments: { ...args, [key]: `${value[0]}0${random.integer(10)}` } };
    const content = execute(call, episode);
    return [
      { role: "assistant", content: "", toolCalls: [call] },
      { role: "tool", name, content },
    ];
  }
  const written = `{"name":"${name}","arguments":${JSON.stringify(args)}}`;
  if (key === "") {
    const broken = written.slice(0, -1 - random.integer(3));
    return [
      { role: "assistant", content: `<tool_call>${broken}</tool_call>` },
      {
        role: "tool",
        name: "tool_call",
        content: `Error: This tool call is not valid JSON: ${problemOf(broken)}. Write ${example}.`,
      },
    ];
  }
  const { [key]: _, ...rest } = args;
  const call: ToolCall = { name, arguments: rest };
  const { parameters } = episode.tools.find((tool) => tool.name === name) ?? {};
  const checked = parameters instanceof z.ZodType ? parameters.safeParse(rest) : undefined;
  const issues = checked?.error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}.`) ?? [];
  return [
    { role: "assistant", content: "", toolCalls: [call] },
    { role: "tool", name, content: `Error: wrong arguments for ${name}. ${issues.join(" ")}` },
  ];
}

const example = '<tool_call>{"name": "…", "arguments": {…}}</tool_call>';

function problemOf(json: string): string {
  try {
    JSON.parse(json);
    return "";
  } catch (problem) {
    return reasonOf(problem);
  }
}
