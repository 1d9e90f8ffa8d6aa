import type { Environment } from "../../../src/environments/environment.ts";
import { whileOpen } from "../../../src/environments/lifetime.ts";
import { guarded } from "../../../src/guard/guarded.ts";
import type { TrainingConfig } from "../../../src/training/config/settings.ts";

/** The guards of a command over other people's code. @param subject the command's name */
export function guardsOf(subject: string, { rollout }: Pick<TrainingConfig, "rollout">, warn: (message: string) => void) {
  return { limitMs: rollout.episodeTimeoutMs, subject, advice: "Mend the code, then start again.", warn };
}

/** Does work with an environment that is open meanwhile. @throws what the work throws, or the environment's code anywhere */
export function whileGuarded<T>(
  guards: ReturnType<typeof guardsOf>,
  environment: Environment,
  work: (opened: Environment) => Promise<T>,
): Promise<T> {
  return guarded(guards, (signal) => whileOpen(environment, { timeoutMs: guards.limitMs, signal }, work));
}
