import { z } from "zod";
import { acts } from "../../../src/core/acts.ts";
import { settingsDoor } from "../../../src/core/door.ts";
import { remoteSettingsShape } from "../shared/settings.ts";

const { executionErrors: _, ...shared } = remoteSettingsShape;

export const nemoGymSettingsSchema = settingsDoor("settings of NeMo Gym", {
  ...shared,
  /** Files of rows in JSONL, one for each split, as the resource server's `data` folder has them. */
  tasks: z.record(z.string(), acts.reads(z.string().min(1))),
});

export type NemoGymSettings = z.output<typeof nemoGymSettingsSchema>;
