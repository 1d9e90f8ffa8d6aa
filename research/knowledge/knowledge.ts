import { EnvError } from "../../src/core/errors.ts";
import { randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { behaviours } from "./behaviours.ts";
import { demonstrate } from "./demonstrations.ts";
import type { KnowledgeEpisode } from "./episode.ts";
import { completeSettings, knowledgeSettingsSchema } from "./settings.ts";
import { startOf } from "./start.ts";
import { challengeKinds, drawTask, type KnowledgeTask } from "./task.ts";

export interface KnowledgeEnvironment extends Environment<KnowledgeTask> {
  start(task: KnowledgeTask): KnowledgeEpisode;
}

/**
 * An embedded world of facts, searched and calculated with in ARPO's protocol (arXiv:2507.19849): each task has a small corpus of
 * its own, so that nothing can be known by heart. Tasks are generated without end; the seed of an episode decides nothing.
 * @throws ConfigError naming the first setting that is wrong
 */
export function knowledgeEnvironment(userSettings: unknown = {}): KnowledgeEnvironment {
  const settings = completeSettings(parseSettings(knowledgeSettingsSchema, userSettings, "environment.settings"));
  const hasChallenge = challengeKinds(settings.kinds).length > 0;
  return {
    name: "knowledge",
    size: (split) => (split === "challenge" && !hasChallenge ? 0 : Number.POSITIVE_INFINITY),
    task(split, index) {
      if (split === "challenge" && !hasChallenge)
        throw new EnvError("knowledge split", split, { hint: "It needs a kind of question with two or more hops." });
      return drawTask(settings, split, index);
    },
    start: startOf(settings),
    expert: {
      behaviours: Object.keys(behaviours),
      play(task, lazy = {}) {
        const habits = Object.entries(behaviours).flatMap(([name, habit]) => (lazy[name] === "never" ? [habit] : []));
        return demonstrate(task, settings, randomStream(0), {
          slip: Object.fromEntries(habits.map((habit) => [habit, 1])),
          // A query in full always shows what is wanted. A policy that never searches again has no cause to write short ones, but does.
          queries: habits.includes("settle") ? { short: 1 } : { full: 1 },
        });
      },
    },
  };
}
