import { z } from "zod";
import { DeadlineError } from "../core/deadline.ts";
import { EpisodeStop } from "../core/episode-stop.ts";
import { reasonOf } from "../core/errors.ts";
import { messageDoor } from "../core/message-doors.ts";
import type { Message } from "../core/messages.ts";
import { seedOf } from "../core/random.ts";
import { type BehaviourCount, toolFailureKinds } from "../core/trajectory.ts";
import { callUserCode } from "../core/user-code.ts";
import { closeUnplayed } from "../environments/bounded.ts";
import type { Environment, Episode, Score, Task } from "../environments/environment.ts";
import { parametersAsJsonSchema, type Tool } from "../tools/tool.ts";
import type { RolloutOptions } from "./options.ts";

/** Returns the environment's answer, checked: it is other people's code, often without types. @throws EpisodeStop */
export async function ask<T>(
  what: string,
  schema: z.ZodType,
  call: (signal: AbortSignal) => T | Promise<T>,
  { episodeTimeoutMs, signal }: RolloutOptions,
): Promise<T> {
  let answer: T;
  try {
    answer = await callUserCode(`${what}() of the environment`, call, { timeoutMs: episodeTimeoutMs, signal });
  } catch (error) {
    const reason = error instanceof DeadlineError ? "environment-timeout" : "environment-error";
    throw new EpisodeStop(reason, `${what}: ${reasonOf(error)}`);
  }
  return checked(what, schema, answer);
}

function checked<T>(what: string, schema: z.ZodType, answer: T): T {
  const result = schema.safeParse(answer);
  if (result.success) return answer;
  const problems = result.error.issues.map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message));
  throw new EpisodeStop("environment-error", `${what} gave a malformed answer: ${problems.join("; ")}`);
}

const method = z.custom<unknown>((value) => typeof value === "function", "a function");
const toolsSchema = z.array(z.object({ name: z.string(), description: z.string() })).superRefine((tools, { addIssue }) => {
  for (const [i, tool] of tools.entries()) {
    if (tools.findIndex(({ name }) => name === tool.name) < i)
      addIssue({ code: "custom", message: `two tools are called ${tool.name}: give each a name of its own` });
  }
});
/** Schemas that JSON values can satisfy. */
const known = new WeakSet<object>();
const protocolSchema = z.object({
  actions: z.object({ stopStrings: z.array(z.string().min(1)).optional(), read: method }),
  continuation: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("one-message"), write: method, maxResponseTokens: z.number().min(1).optional() }),
    z.object({ kind: z.literal("new-messages"), show: method }),
  ]),
});
const limit = z.int().min(1).optional();
const episodeSchema = z.object({
  messages: z.array(messageDoor).min(1),
  tools: toolsSchema,
  protocol: protocolSchema.optional(),
  role: z.string().optional(),
  limits: z.object({ turns: limit, turnsPerRequest: limit }).optional(),
});
// Whether a reward is finite is asked where it is given: that is a stop reason of its own.
const anyNumber = z.custom<number>((value) => typeof value === "number", "a number");

const stepShape = { role: z.string().optional(), tools: toolsSchema.optional(), reward: anyNumber.optional() };
const someMessages = z.array(messageDoor);
/** The answer of `Episode.afterTools`. */
export const stepSchema = z.object({ ...stepShape, done: z.boolean().optional(), messages: someMessages.optional() }).optional();
/** The answer of `Episode.reply`. */
export const replySchema = z.union([
  z.object({ ...stepShape, done: z.literal(true), messages: someMessages.optional() }),
  z.object({ ...stepShape, done: z.literal(false), messages: someMessages.min(1) }),
]);
/** The answer of `Episode.call`. */
export const callAnswerSchema = z.union([
  z.string(),
  z.undefined(),
  z.object({
    content: z.string(),
    valid: z.boolean().optional(),
    failure: z.enum(toolFailureKinds).optional(),
    reward: anyNumber.optional(),
    done: z.boolean().optional(),
  }),
]);

const behaviourSchema = z.union([
  z.boolean(),
  z
    .object({ done: z.int().min(0), called: z.int().min(0) })
    .refine(({ done, called }) => done <= called, { path: ["done"], message: "at most `called`" }),
]);
const scoreSchema = z.object({
  reward: anyNumber,
  scores: z.record(z.string(), anyNumber).optional(),
  behaviours: z.record(z.string(), behaviourSchema).optional(),
});

/**
 * Starts a fresh episode. The rollouts of a group begin alike.
 * @throws EpisodeStop
 */
export async function startEpisode<T extends Task>(
  environment: Environment<T>,
  task: T,
  options: RolloutOptions,
): Promise<Episode> {
  let given: Episode | Promise<Episode> | undefined;
  const start = () => {
    given = environment.start(task, seedOf(options.seed, "episode", options.draws?.group ?? options.group));
    return given;
  };
  try {
    const episode = checked("start", episodeSchema, await ask("start", z.unknown(), start, options));
    for (const tool of episode.tools) requireReadable(tool);
    return episode;
  } catch (error) {
    closeUnplayed(given);
    throw error;
  }
}

/** @throws EpisodeStop for a tool whose parameters no JSON value satisfies */
function requireReadable(tool: Tool): void {
  if (!(tool.parameters instanceof z.ZodType) || known.has(tool.parameters)) return;
  try {
    parametersAsJsonSchema(tool);
    known.add(tool.parameters);
  } catch (error) {
    throw new EpisodeStop("environment-error", `start: ${reasonOf(error)}`);
  }
}

type CheckedScore = Omit<Required<Score>, "behaviours"> & { readonly behaviours?: Record<string, BehaviourCount> };

/** @throws EpisodeStop, also where the reward or a score is not finite */
export async function askScore(
  episode: Episode,
  conversation: readonly Message[],
  options: RolloutOptions,
): Promise<CheckedScore> {
  return finiteScore(await ask("score", scoreSchema, () => episode.score(conversation), options));
}

/** A score that an environment gave unasked. @throws EpisodeStop as `askScore` */
export function checkedScore(score: Score): CheckedScore {
  return finiteScore(checked("score", scoreSchema, score));
}

function finiteScore({ reward, scores = {}, behaviours }: Score): CheckedScore {
  for (const [name, value] of Object.entries({ reward, ...scores })) requireFinite(`score gave ${name}`, value);
  return { reward, scores, ...(behaviours === undefined ? {} : { behaviours: countsOf(behaviours) }) };
}

/** @throws EpisodeStop */
export function requireFinite(what: string, value: number): void {
  if (!Number.isFinite(value)) throw new EpisodeStop("invalid-reward", `${what} ${value}, which is not a finite number`);
}

/** In counts: what was true or false was called for once. */
function countsOf(behaviours: NonNullable<Score["behaviours"]>): Record<string, BehaviourCount> {
  return Object.fromEntries(
    Object.entries(behaviours).map(([name, behaviour]) => [
      name,
      typeof behaviour === "boolean" ? { done: Number(behaviour), called: 1 } : behaviour,
    ]),
  );
}

/** Closes an episode. It is over and its result stands, so nothing is thrown. */
export async function close(
  episode: Episode | undefined,
  { episodeTimeoutMs }: Pick<RolloutOptions, "episodeTimeoutMs">,
): Promise<void> {
  try {
    await callUserCode("close() of the environment", () => episode?.close?.(), { timeoutMs: episodeTimeoutMs });
  } catch {
    // The caller has its result.
  }
}
