import { EnvError } from "../../src/core/errors.ts";
import { randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { demonstrate } from "./demonstrations.ts";
import { startEpisode } from "./episode.ts";
import { habits } from "./expert.ts";
import { completeSettings, officeSettingsSchema } from "./settings.ts";
import { challengeLength, drawTask, type OfficeTask } from "./task.ts";

/**
 * The embedded environment: a small office with contacts, calendar, notes, messages, money and files, and a user with requests.
 * Tasks are generated without end. All of an episode is decided by its task; the seed decides nothing.
 * @throws ConfigError naming the first setting that is wrong
 * @example
 * const environment = officeClassicEnvironment();
 * const task = await environment.task("train", 0);
 */
export function officeClassicEnvironment(userSettings: unknown = {}): Environment<OfficeTask> {
  const settings = completeSettings(parseSettings(officeSettingsSchema, userSettings, "environment.settings"));
  const hasChallenge = challengeLength(settings.kinds) <= settings.requests.max;
  return {
    name: "office-classic",
    size: (split) => (split === "challenge" && !hasChallenge ? 0 : Number.POSITIVE_INFINITY),
    task(split, index) {
      if (split === "challenge" && !hasChallenge)
        throw new EnvError("office split", split, {
          hint: "It needs two requests an episode, and kinds of which a pair is held out.",
        });
      return drawTask(settings, split, index);
    },
    start: (task) => startEpisode(task, settings.reward),
    expert: {
      behaviours: habits,
      play(task, lazy = {}) {
        const slipped = habits.filter((habit) => lazy[habit] === "never");
        return demonstrate(task, randomStream(0), { slip: Object.fromEntries(slipped.map((habit) => [habit, 1])) });
      },
    },
  };
}
