import { z } from "zod";
import { acts } from "../../../src/core/acts.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { longestTimer } from "../../../src/core/timer.ts";

/** Settings of every environment on another server. */
export const remoteSettingsShape = {
  /** Longest wait for one answer, in milliseconds. `rollout.episodeTimeoutMs` is above it. */
  timeoutMs: z.int().min(1).max(longestTimer).default(60_000),
  /** Largest answer, in MiB. A larger one ends the episode as a fault of the environment. */
  maxAnswer: z.number().positive().default(16),
  /** Characters of an answer that the model reads. */
  maxOutput: z.int().min(1).default(20_000),
  /** Most sessions at a time. Default `rollout.concurrency`, and less where the server refuses more. */
  concurrency: z.int().min(1).optional(),
  /** Name of the environment variable that holds the server's key. The key itself is never recorded. */
  keyVariable: acts.variable(z.string().min(1)).optional(),
  /** System message before the environment's own prompt. */
  system: z.string().optional(),
  /**
   * "return" adds all rewards up to the return of the episode. "turns" leaves each with its turn, for algorithms that use rewards of turns.
   */
  rewards: z.enum(["return", "turns"]).default("return"),
  /**
   * "require" ends an episode whose first messages differ from those of an earlier episode of the same task: a group of rollouts is compared
   * with itself, so it has to begin alike. "ignore" leaves that to the server.
   */
  sameStart: z.enum(["require", "ignore"]).default("require"),
  /**
   * The treatment of an error that the environment raises during a step: "fault", it is a fault of the environment; "tell", the
   * model reads it.
   */
  executionErrors: z.enum(["fault", "tell"]).default("fault"),
  /** True if the same calls in the same order give the same answers in a new session: rollouts may then branch by repeating calls. */
  replayable: z.boolean().default(false),
};

export type RemoteSettings = z.output<z.ZodObject<typeof remoteSettingsShape>>;

/** The fields that an environment on another server has from its settings. */
export function declared(
  name: string,
  { replayable, rewards, concurrency }: Pick<RemoteSettings, "replayable" | "rewards" | "concurrency">,
) {
  return { name, replayable, turnRewards: rewards === "turns", ...(concurrency === undefined ? {} : { concurrency }) };
}

/** How a server is asked. */
export interface Access {
  /** Longest wait for one answer. */
  readonly timeoutMs: number;
  /** Largest answer, in bytes. */
  readonly maxBytes: number;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Left out of every error, and of what the server repeats of them. */
  readonly secrets: readonly string[];
  /** Most sessions of this process at a time, where it is set. */
  readonly concurrency?: number;
}

/**
 * The remedy where a server has no place for another session.
 * @param most sessions that the server allows, if it says so
 */
export function capacityHint({ concurrency }: Pick<Access, "concurrency">, most?: number): string {
  if (concurrency === undefined || (most !== undefined && concurrency > most))
    return `Set environment.settings.concurrency to ${most ?? "less than rollout.concurrency"}, or let the server have more sessions.`;
  if (most === undefined)
    return `Set environment.settings.concurrency to less than ${concurrency}, or let the server have more sessions.`;
  return `environment.settings.concurrency is ${concurrency}, which fits: other clients have the places, or sessions that nobody ended. Start the server again, or with more sessions.`;
}

/** @param header those that carry the key. @throws ConfigError if the key's variable is named and empty */
export function accessOf(
  settings: Pick<RemoteSettings, "timeoutMs" | "maxAnswer" | "keyVariable" | "concurrency">,
  header = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` }),
): Access {
  const key = keyOf(settings);
  const { timeoutMs, maxAnswer, concurrency } = settings;
  return {
    timeoutMs,
    maxBytes: maxAnswer * 2 ** 20,
    headers: key === undefined ? {} : header(key),
    secrets: key === undefined ? [] : [key],
    ...(concurrency === undefined ? {} : { concurrency }),
  };
}

/** The server's key. @throws ConfigError if the variable is named and empty */
export function keyOf({ keyVariable }: Pick<RemoteSettings, "keyVariable">, variables = process.env): string | undefined {
  if (keyVariable === undefined) return undefined;
  const key = variables[keyVariable];
  if (key !== undefined && key !== "") return key;
  throw new ConfigError("environment.settings.keyVariable", keyVariable, {
    expected: "the name of an environment variable that is set",
    hint: `Set it before the command: ${keyVariable}=… retrograde-rl …`,
  });
}
