import { randomStream } from "../../src/core/random.ts";
import type { Split } from "../../src/environments/environment.ts";
import { demonstrate, type ExpertOptions } from "./demonstrations.ts";
import { completeSettings, knowledgeSettingsSchema } from "./settings.ts";
import { drawTask } from "./task.ts";

export const settingsOf = (given: object) => completeSettings(knowledgeSettingsSchema.parse(given));
export const anyQuery = { full: 1, short: 1, name: 1 };

export function play(given: object, count: number, options: ExpertOptions, split: Split = "test") {
  const settings = settingsOf(given);
  const random = randomStream(1, "kinds.test");
  return Array.from({ length: count }, (_, i) => demonstrate(drawTask(settings, split, i), settings, random, options));
}
