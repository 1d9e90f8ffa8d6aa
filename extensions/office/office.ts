import { EnvError } from "../../src/core/errors.ts";
import { randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Environment, Split } from "../../src/environments/environment.ts";
import { demonstrate } from "./demonstrations.ts";
import { startEpisode } from "./episode.ts";
import { completeSettings, officeSettingsSchema } from "./settings.ts";
import { drawTask, hasChallenge, type OfficeTask, officeSplits } from "./task.ts";

/**
 * The default environment: a small office with contacts, calendar, files, messages, money and parcels, and a user with requests. What is
 * right cannot be had by imitation: the demonstrations of its default model are mostly wrong. Tasks are generated without end. All of an
 * episode is decided by its task; the seed decides nothing.
 * @throws ConfigError naming the first setting that is wrong
 * @example
 * await train({ environment: officeEnvironment(), steps: 5 });
 */
export function officeEnvironment(userSettings: unknown = {}): Environment<OfficeTask> {
  const settings = completeSettings(parseSettings(officeSettingsSchema, userSettings, "environment.settings"));
  const challenged = hasChallenge(settings.kinds);
  // The challenge has a number of requests of its own, never one.
  const isEmpty = (split: Split) =>
    (split === "challenge" && !challenged) || (split === "pairs" && !(challenged && settings.requests.max > 1));
  return {
    name: "office",
    splits: officeSplits,
    size: (split) => (isEmpty(split) ? 0 : Number.POSITIVE_INFINITY),
    task(split, index) {
      if (isEmpty(split))
        throw new EnvError("office split", split, {
          hint: "It needs kinds of request of which a pair is held out, and episodes of two requests.",
        });
      return drawTask(settings, split, index);
    },
    start: (task) => startEpisode(task, settings),
    expert: { play: (task) => demonstrate(task, randomStream(0)) },
  };
}
