import { z } from "zod";
import { acts } from "../../../src/core/acts.ts";
import { settingsDoor } from "../../../src/core/door.ts";
import { longestTimer } from "../../../src/core/timer.ts";
import { remoteSettingsShape } from "../shared/settings.ts";

export const orsSettingsSchema = settingsDoor("settings of ORS", {
  ...remoteSettingsShape,
  /** The environment's name on the server. Default: the server's first. */
  environment: z.string().min(1).optional(),
  /** Names of secrets that the environment needs, each with the environment variable that holds it. */
  secretVariables: z.record(z.string(), acts.variable(z.string().min(1))).default({}),
  /** Time between two signs of life of an open session, in milliseconds. Servers delete sessions that are silent for 900 s. */
  pingMs: z.int().min(1).max(longestTimer).default(60_000),
  /** Longest setup of a session, in milliseconds: some environments start a sandbox first. */
  setupMs: z.int().min(1).max(longestTimer).default(600_000),
});

export type OrsSettings = z.output<typeof orsSettingsSchema>;
