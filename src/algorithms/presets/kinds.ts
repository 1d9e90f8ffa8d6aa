import { arpo } from "./arpo.ts";
import { cispo } from "./cispo.ts";
import { custom } from "./custom.ts";
import { dapo } from "./dapo.ts";
import { drGrpo } from "./dr-grpo.ts";
import { gigpo } from "./gigpo.ts";
import { grpo } from "./grpo.ts";
import { gspo } from "./gspo.ts";
import { ppo } from "./ppo.ts";
import type { Preset } from "./preset.ts";
import { reinforcePlusPlus } from "./reinforce++.ts";
import { reinforcePlusPlusBaseline } from "./reinforce++-baseline.ts";
import { rloo } from "./rloo.ts";

/** The compositions with a name. A new one is a file and a line here. */
export const presets = [
  ppo,
  grpo,
  drGrpo,
  dapo,
  rloo,
  reinforcePlusPlus,
  reinforcePlusPlusBaseline,
  gspo,
  cispo,
  gigpo,
  arpo,
  custom,
] as const;

type Settings<Table extends readonly Preset[]> = { [Row in keyof Table]: Table[Row]["settings"] };

/** Their settings, in the table's order. */
export const presetSettings = presets.map(({ settings }) => settings) as unknown as Settings<typeof presets>;
