import { ConfigError, EnvError } from "../core/errors.ts";
import { callUserCode, type UserCodeLimits } from "../core/user-code.ts";
import { boundedEnvironment, closeMs } from "./bounded.ts";
import type { Environment, Episode, Task } from "./environment.ts";

/**
 * Works with an environment that is open, and closes it however the work ends.
 * @param limits of each of its answers
 * @param work is given the environment with these limits
 * @throws ConfigError of `open` as it is; EnvError if it cannot be opened; what the work throws; else EnvError if it cannot be closed
 */
export async function whileOpen<T, E extends Pick<Environment, "name" | "open" | "close">>(
  environment: E,
  limits: UserCodeLimits,
  work: (environment: E) => Promise<T>,
): Promise<T> {
  const limited = boundedEnvironment(environment, limits);
  const step = async (name: "open" | "close") => {
    try {
      await limited[name]?.();
    } catch (cause) {
      limits.signal?.throwIfAborted();
      // What a setting lacks is the user's to mend, and says how.
      if (cause instanceof ConfigError) throw cause;
      throw new EnvError(`${name} of "${environment.name}"`, cause, { hint: "The environment's own code threw this.", cause });
    }
  };
  await step("open");
  let result: T;
  try {
    result = await work(limited);
  } catch (error) {
    await step("close").catch(() => {}); // the first failure is the one to report
    throw error;
  }
  await step("close");
  return result;
}

/**
 * Works with an episode of a task, and closes it however the work ends. Whoever looks at an episode outside of a rollout does so here: a server
 * of the environment's holds a session, or a process, until then.
 * @throws what `start` and the work throw; else what `close` throws
 */
export async function whileEpisode<T, K extends Task>(
  environment: Pick<Environment<K>, "start">,
  task: K,
  seed: number,
  work: (episode: Episode) => T | Promise<T>,
): Promise<T> {
  const episode = await environment.start(task, seed);
  const close = () => callUserCode("close() of the environment", () => episode.close?.(), { timeoutMs: closeMs });
  let result: T;
  try {
    result = await work(episode);
  } catch (error) {
    await close().catch(() => {}); // the first failure is the one to report
    throw error;
  }
  await close();
  return result;
}
