import { callUserCode, type UserCodeLimits } from "../core/user-code.ts";
import type { Environment, Episode } from "./environment.ts";

/** For the start and the end of an environment, which may download its data or end a server. */
const openMs = 600_000;
export const closeMs = 30_000;

/**
 * The same environment, each of whose answers is awaited no longer than the limits say. Episodes that rollouts play have their own limits
 * (`ask`); those of other callers are bounded by `boundedEpisode`.
 */
export function boundedEnvironment<E extends Pick<Environment, "name" | "open" | "close">>(
  environment: E,
  { timeoutMs, signal }: UserCodeLimits,
): E {
  const within = { timeoutMs, signal };
  return bounded(environment, `"${environment.name}"`, {
    ...{ size: within, task: within, start: within, demonstrate: within },
    open: { timeoutMs: Math.max(timeoutMs, openMs), signal },
    close: { timeoutMs: Math.max(timeoutMs, closeMs) },
  });
}

/** Closes an episode that starts after nobody waits for it any more, or that cannot be played. */
export function closeUnplayed(started: unknown): void {
  const close = async () => {
    const episode = (await started) as Partial<Episode> | undefined;
    await episode?.close?.();
  };
  close().catch(() => {}); // why it was not played is reported already
}

/** The same episode, each of whose answers is awaited no longer than the limits say. */
export function boundedEpisode(episode: Episode, limits: UserCodeLimits): Episode {
  return bounded(episode, "the environment", {
    ...{ call: limits, afterTools: limits, reply: limits, score: limits },
    close: { timeoutMs: limits.timeoutMs },
  });
}

/** The same object, whose methods that are named here are called as users' code. */
function bounded<T extends object>(object: T, what: string, limits: Readonly<Record<string, UserCodeLimits>>): T {
  return new Proxy(object, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      const limit = typeof name === "string" && Object.hasOwn(limits, name) ? limits[name] : undefined;
      if (typeof value !== "function" || limit === undefined) return value;
      return (...args: unknown[]) => {
        let given: unknown;
        const call = () => {
          given = Reflect.apply(value, target, args);
          return given;
        };
        const answer = callUserCode(`${String(name)}() of ${what}`, call, limit);
        return name === "start"
          ? answer.catch((error: unknown) => {
              closeUnplayed(given);
              throw error;
            })
          : answer;
      };
    },
  });
}
