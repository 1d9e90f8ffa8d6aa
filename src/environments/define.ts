import { enlist } from "../core/door.ts";
import { firstDuplicate } from "../core/duplicate.ts";
import { ConfigError, EnvError } from "../core/errors.ts";
import { mean } from "../core/mean.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import { type Random, randomStream } from "../core/random.ts";
import { didYouMean } from "../core/settings.ts";
import { roleScore } from "../core/trajectory.ts";
import { closeUnplayed } from "./bounded.ts";
import { type Environment, type Episode, type Reply, type Score, type Split, splits, type Task } from "./environment.ts";
import { responseOf } from "./protocol.ts";

/** The part that every task of an own environment has: the request that the model reads. `kind` groups tasks in reports. */
export interface TaskRequest {
  readonly prompt: string;
  readonly kind?: string;
}

/** A split's tasks: a list, or a function that loads it once. */
export type TaskList<T extends TaskRequest> = readonly T[] | (() => readonly T[] | Promise<readonly T[]>);

export interface EnvironmentDefinition<T extends TaskRequest>
  extends Pick<Environment, "open" | "close" | "concurrency" | "turnRewards"> {
  readonly name: string;
  /** The system message. */
  readonly system?: string;
  /**
   * A list for each split, of any name; a list alone, which is to train on; or a function that makes up a task: then train, validation and
   * test have no end of them.
   */
  readonly tasks: readonly T[] | Readonly<Record<string, TaskList<T>>> | ((random: Random) => T);
  /**
   * The roles of its episodes: each has a conversation and a reward of its own, and one policy learns to play all. `start` says which acts first,
   * and every `Reply` which acts next. Rollouts do not branch.
   */
  readonly roles?: readonly string[];
  /** Default true: an episode is made again by repeating its calls. Set false if `reply` or `call` draws on anything but the episode. */
  readonly replayable?: boolean;
  /** A fresh episode. State that its tools change belongs in here, so that no two episodes share it. */
  start(task: T, random: Random): DefinedEpisode | Promise<DefinedEpisode>;
  /**
   * How an expert solves a task: the messages after the prompt, tool calls and their results included, for supervised fine-tuning. The random
   * numbers are those that `start` gets.
   */
  demonstrate?(task: T, random: Random): readonly Message[] | Promise<readonly Message[]>;
}

export interface DefinedEpisode
  extends Pick<Episode, "role" | "tools" | "protocol" | "limits" | "call" | "afterTools" | "close"> {
  /**
   * The answer to a message without a tool call: the user's next message, a `Reply` with a reward or other tools, or undefined for the end.
   * Default: the first such message ends the episode.
   */
  reply?(message: AssistantMessage): string | Reply | undefined | Promise<string | Reply | undefined>;
  /**
   * The reward at the end; with roles, that of each by its name, whose mean is then the episode's. Default 0, for episodes that give rewards turn
   * by turn.
   */
  readonly reward?: RewardOf<number | Score> | Readonly<Record<string, RewardOf<number>>>;
  /** An independent copy in the same state: branches then need no replay. */
  clone?(): DefinedEpisode | Promise<DefinedEpisode>;
}

type RewardOf<Given> = (end: EpisodeEnd) => Given | Promise<Given>;

export interface EpisodeEnd {
  /** The model's last message. */
  readonly answer: string;
  readonly conversation: readonly Message[];
  /** With a protocol of one growing message its text: the model's, and the results between; else the same as `answer`. */
  readonly response: string;
}

export type DefinedTask<T> = Task & { readonly request: T };

/**
 * Makes an environment of your own tasks. An episode begins with a task's prompt and ends with the model's first message without a tool
 * call, unless `reply` continues it. Rollouts of it can branch if each of its tools is `replayable` or `idempotent`, or if its episodes
 * have `clone`.
 * @throws ConfigError naming a property that nothing reads, or a name that is a path
 * @example
 * const sums = defineEnvironment({
 *   name: "sums",
 *   tasks: (random) => ({ prompt: "2 + 2?", answer: "4" }),
 *   start: ({ answer }) => ({ tools: [], reward: (end) => (end.answer === answer ? 1 : 0) }),
 * });
 */
export function defineEnvironment<T extends TaskRequest>(definition: EnvironmentDefinition<T>): Environment<DefinedTask<T>> {
  requireKnown("defineEnvironment", definition, definitionKeys);
  const { roles } = definition;
  if (roles !== undefined) requireRoles(roles, definition);
  const { name, system, tasks, replayable = true, concurrency, turnRewards } = definition;
  const demonstrate = definition.demonstrate?.bind(definition);
  // It is part of lines of the terminal and in names of files.
  if (typeof name !== "string" || !/^[^\p{C}/\\]{1,100}$/u.test(name) || /^\.+$/.test(name))
    throw new ConfigError("name of the environment", name, { expected: "1 to 100 characters that are no path" });
  return {
    name,
    replayable,
    ...tasksOf(tasks),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(turnRewards === undefined ? {} : { turnRewards }),
    ...(roles === undefined ? {} : { roles, metrics: roles.map(roleScore) }),
    start: async ({ request }, seed) => {
      const started = await definition.start(request, randomStream(seed, "episode"));
      try {
        return episodeOf(openingOf(system, request), requireEpisode(started, roles));
      } catch (error) {
        closeUnplayed(started);
        throw error;
      }
    },
    ...(demonstrate && {
      demonstrate: async ({ request }: DefinedTask<T>, seed: number) => [
        ...openingOf(system, request),
        ...(await demonstrate(request, randomStream(seed, "episode"))),
      ],
    }),
    open: () => definition.open?.(),
    close: () => definition.close?.(),
  };
}

/** The part of an environment that gives tasks. */
export function tasksOf<T extends TaskRequest>(
  tasks: EnvironmentDefinition<T>["tasks"],
): Pick<Environment<DefinedTask<T>>, "size" | "task"> & { readonly splits: readonly Split[] } {
  const {
    splits: names,
    size,
    request,
  } = typeof tasks === "function" ? generated(tasks) : listed(isList(tasks) ? { train: tasks } : tasks);
  return {
    splits: names,
    size,
    task: async (split, index) => {
      const given = await request(split, index);
      requireRequest(given, `task ${index} of the ${split} split`);
      return { id: `${split}/${index}`, kind: given.kind, request: given };
    },
  };
}

function isList<T>(tasks: readonly T[] | Readonly<Record<string, TaskList<T & TaskRequest>>>): tasks is readonly T[] {
  return Array.isArray(tasks);
}

function openingOf(system: string | undefined, { prompt }: TaskRequest): Message[] {
  const question: Message = { role: "user", content: prompt };
  return system === undefined ? [question] : [{ role: "system", content: system }, question];
}

interface TaskSource<T> {
  readonly splits: readonly Split[];
  size(split: Split): number | Promise<number>;
  /** Undefined beyond the end of a list. */
  request(split: Split, index: number): T | undefined | Promise<T | undefined>;
}

/** One generator makes tasks of one kind, so none of its splits is a challenge. */
const generatedSplits = splits.filter((split) => split !== "challenge");

function generated<T extends TaskRequest>(make: (random: Random) => T): TaskSource<T> {
  return {
    splits: generatedSplits,
    size: (split) => (generatedSplits.some((known) => known === split) ? Number.POSITIVE_INFINITY : 0),
    request: (split, index) => make(randomStream(0, "tasks", split, index)),
  };
}

function listed<T extends TaskRequest>(tasks: Readonly<Record<string, TaskList<T>>>): TaskSource<T> {
  const loaded = new Map<Split, Promise<readonly T[]>>();
  const load = (split: Split): readonly T[] | Promise<readonly T[]> => {
    const list = Object.hasOwn(tasks, split) ? tasks[split] : [];
    if (typeof list !== "function") return list ?? [];
    const known = loaded.get(split) ?? Promise.resolve(list());
    loaded.set(split, known);
    return known;
  };
  const at = (list: readonly T[], index: number) => list[index];
  return {
    splits: Object.keys(tasks),
    size: (split) => {
      const list = load(split);
      return "then" in list ? list.then(({ length }) => length) : list.length;
    },
    request: (split, index) => {
      const list = load(split);
      return "then" in list ? list.then((items) => at(items, index)) : at(list, index);
    },
  };
}

const definitionKeys = Object.keys({
  ...{ name: true, system: true, tasks: true, roles: true, replayable: true, start: true, demonstrate: true },
  ...{ open: true, close: true, concurrency: true, turnRewards: true },
} satisfies Record<keyof EnvironmentDefinition<TaskRequest>, true>);
const episodeKeys = Object.keys({
  ...{ role: true, tools: true, protocol: true, limits: true, call: true, afterTools: true },
  ...{ close: true, reply: true, reward: true, clone: true },
} satisfies Record<keyof DefinedEpisode, true>);

for (const [name, uses] of Object.entries({ defineEnvironment: definitionKeys, "what start() returns": episodeKeys }))
  enlist({ ...{ name, uses, ignores: [], neutral: {} }, refuses: (field) => !uses.includes(field) });

/**
 * Plain JavaScript lets through what nothing reads, and a reward in the wrong place is a reward of 0. An instance of a class may have state of its own.
 * @throws ConfigError naming the first property that nothing reads
 */
function requireKnown(what: string, given: object, known: readonly string[]): void {
  if (Object.getPrototypeOf(given) !== Object.prototype) return;
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const elsewhere = known === definitionKeys && episodeKeys.includes(unknown);
  throw new ConfigError(`a property of ${what}`, unknown, {
    expected: known,
    hint: elsewhere ? `${unknown} belongs to what start() returns: each episode has its own.` : didYouMean(unknown, known),
  });
}

function episodeOf(messages: readonly Message[], defined: DefinedEpisode): Episode {
  requireKnown("what start() returns", defined, episodeKeys);
  const { role, tools, protocol, limits } = defined;
  const clone = defined.clone?.bind(defined);
  return {
    messages,
    ...(role === undefined ? {} : { role }),
    tools,
    ...(protocol === undefined ? {} : { protocol }),
    ...(limits === undefined ? {} : { limits }),
    ...(defined.call && { call: defined.call.bind(defined) }),
    ...(defined.afterTools && { afterTools: defined.afterTools.bind(defined) }),
    ...(clone && { clone: async () => episodeOf(messages, await clone()) }),
    reply: async (message) => {
      const reply = await defined.reply?.(message);
      if (reply === undefined) return { done: true };
      return typeof reply === "string" ? { done: false, messages: [{ role: "user", content: reply }] } : reply;
    },
    score: async (conversation) => {
      const last = conversation.findLast((message) => message.role === "assistant");
      const answer = last?.content ?? "";
      const continuation = protocol?.continuation;
      const response = continuation?.kind === "one-message" ? responseOf(conversation, continuation.write) : answer;
      const end = { answer, conversation, response };
      if (defined.reward === undefined) return { reward: 0 };
      if (typeof defined.reward !== "function") return scoreOfRoles(defined.reward, end);
      const score: unknown = await defined.reward(end);
      if (typeof score === "number") return { reward: score };
      if (typeof score === "object" && score !== null && "reward" in score) return score as Score;
      throw new EnvError("what reward() returned", score, {
        expected: "a number, or an object with `reward` and `scores`",
        hint: rewardHint(score),
      });
    },
    close: () => defined.close?.(),
  };
}

/** The reward of each role, and their mean as the episode's. */
async function scoreOfRoles(rewards: Readonly<Record<string, RewardOf<number>>>, end: EpisodeEnd): Promise<Score> {
  const scores: Record<string, number> = {};
  for (const [role, rewardOf] of Object.entries(rewards)) scores[roleScore(role)] = await rewardOf(end);
  return { reward: mean(Object.values(scores)), scores };
}

/** @throws ConfigError for names that are no roles, and for what episodes with roles cannot have */
function requireRoles(roles: readonly string[], { demonstrate }: Pick<EnvironmentDefinition<TaskRequest>, "demonstrate">): void {
  const named = Array.isArray(roles) && roles.every((role) => typeof role === "string" && /^[\p{L}\p{N}_-]{1,40}$/u.test(role));
  if (!named || roles.length < 2 || firstDuplicate(roles) !== undefined || roles.includes("environment"))
    throw new ConfigError("roles of the environment", roles, {
      expected: 'two or more names of letters, digits, "-" and "_", each once, and none of them "environment"',
      hint: "An environment with one role has no `roles`.",
    });
  if (demonstrate !== undefined)
    throw new ConfigError("demonstrate of an environment with roles", demonstrate, {
      expected: "none: a demonstration is one conversation",
    });
}

/** @throws EnvError for a role without reward, a reward without role, or an unknown role that acts first */
function requireRolesOf(roles: readonly string[] | undefined, { role, reward, clone }: DefinedEpisode): void {
  const known = roles ?? [];
  if (role === undefined ? known.length > 0 : !known.includes(role))
    throw new EnvError("role of what start() returned", role, {
      expected: known.length === 0 ? "none: defineEnvironment has no `roles`" : known,
      hint: "It is the role that acts first.",
    });
  const rewarded = typeof reward === "object" ? Object.keys(reward) : [];
  const missing = known.find((name) => !rewarded.includes(name)) ?? rewarded.find((name) => !known.includes(name));
  if (missing !== undefined)
    throw new EnvError(`reward of role "${missing}"`, typeof reward === "object" ? reward[missing] : reward, {
      expected:
        known.length === 0
          ? "none: defineEnvironment has no `roles`"
          : `a function for each of ${known.join(", ")}, and for no other: reward: { ${known.map((name) => `${name}: (end) => …`).join(", ")} }`,
    });
  if (roles !== undefined && clone !== undefined)
    throw new EnvError("clone of what start() returned", clone, { expected: "none: rollouts with roles do not branch" });
}

function rewardHint(score: unknown): string | undefined {
  if (score === undefined) return "Is a `return` missing?";
  return typeof score === "boolean" ? "Write `condition ? 1 : 0`." : undefined;
}

/** @throws EnvError naming what a list or a function of tasks gave instead of a task */
function requireRequest(given: unknown, where: string): asserts given is TaskRequest {
  if (typeof given !== "object" || given === null || !("prompt" in given))
    throw new EnvError(where, given, { expected: "an object with a `prompt`, which the model reads" });
  if (typeof given.prompt !== "string") throw new EnvError(`prompt of ${where}`, given.prompt, { expected: "a text" });
}

function requireEpisode(started: unknown, roles: readonly string[] | undefined): DefinedEpisode {
  if (typeof started !== "object" || started === null)
    throw new EnvError("what start() returned", started, { expected: "an object with `tools` and `reward`" });
  if (!("tools" in started) || !Array.isArray(started.tools))
    throw new EnvError("tools of what start() returned", "tools" in started ? started.tools : undefined, {
      expected: "a list of tools",
      hint: "Without tools write `tools: []`.",
    });
  const twice = firstDuplicate((started as DefinedEpisode).tools.map(({ name }) => name));
  if (twice !== undefined)
    throw new EnvError("a tool of what start() returned", twice, {
      expected: "a name that no other tool has",
      hint: 'The model could call the first alone. Rename one: { ...tool, name: "…" }.',
    });
  requireRolesOf(roles, started as DefinedEpisode);
  return started as DefinedEpisode;
}
