import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { withinTime } from "../../src/core/deadline.ts";
import { settingsDoor } from "../../src/core/door.ts";
import { ConfigError } from "../../src/core/errors.ts";
import { parseSettings } from "../../src/core/settings.ts";
import { longestTimer } from "../../src/core/timer.ts";
import type { Tool } from "../../src/tools/tool.ts";

const limitSettings = settingsDoor("withLimits", {
  /** Calls that run at the same time, of all episodes; others wait. */
  concurrency: z.int().min(1).optional(),
  /** For one attempt. The tool's own limit, if left out. */
  timeoutMs: z.number().positive().max(longestTimer).optional(),
  /** Attempts after one that threw or took too long. Only for tools that are idempotent. */
  retries: z.int().min(0).default(0),
  /** Before the first retry; doubled each time. */
  retryDelayMs: z.number().min(0).max(longestTimer).default(200),
});
export type LimitSettings = z.input<typeof limitSettings>;

/** The time that a call may wait for its turn, beyond the time that its attempts may take. */
const patienceMs = 60_000;

/**
 * The same tool with limits. They hold for all users of the returned object: make it once, outside of the episodes.
 * @throws ConfigError, also for retries of a tool that does not say that it is idempotent
 * @example
 * const patient = withLimits(searchTool(localSearch([])), { concurrency: 4, retries: 2 });
 */
export function withLimits(tool: Tool, settings: LimitSettings): Tool {
  const {
    concurrency = Number.POSITIVE_INFINITY,
    retries,
    retryDelayMs,
    ...given
  } = parseSettings(limitSettings, settings, "limits");
  if (retries > 0 && tool.idempotent !== true) {
    throw new ConfigError(`${tool.name}.retries`, retries, {
      expected: "0",
      hint: "Calls are made again only for tools with idempotent: true.",
    });
  }
  const timeoutMs = given.timeoutMs ?? tool.timeoutMs ?? 10_000;
  const turns = createTurns(concurrency);
  const delays = Array.from({ length: retries }, (_, tried) => retryDelayMs * 2 ** tried);

  const attempt: Tool["execute"] = (args, { signal }) =>
    withinTime((given) => tool.execute(args, { signal: given }), timeoutMs, signal);

  const execute: Tool["execute"] = async (args, context) => {
    for (let tried = 0; ; tried++) {
      const release = await turns.take(context.signal);
      try {
        return await attempt(args, context);
      } catch (error) {
        context.signal.throwIfAborted();
        if (tried >= retries) throw error;
      } finally {
        release();
      }
      await sleep(delays[tried], undefined, { signal: context.signal });
    }
  };

  const total = delays.reduce((sum, delay) => sum + delay, timeoutMs * (retries + 1));
  return { ...tool, execute, timeoutMs: total + (concurrency === Number.POSITIVE_INFINITY ? 0 : patienceMs) + 1000 };
}

/** A queue for turns, which one may leave. */
function createTurns(limit: number): { take(signal: AbortSignal): Promise<() => void> } {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const release = () => {
    const next = waiting.shift();
    if (next === undefined) taken--;
    else next();
  };
  return {
    take: async (signal) => {
      signal.throwIfAborted();
      if (taken < limit) {
        taken++;
        return release;
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          waiting.splice(waiting.indexOf(given), 1);
          reject(signal.reason);
        };
        const given = () => {
          signal.removeEventListener("abort", leave);
          resolve();
        };
        signal.addEventListener("abort", leave, { once: true });
        waiting.push(given);
      });
      return release;
    },
  };
}
