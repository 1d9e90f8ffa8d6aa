import { z } from "zod";
import { normalisedGroupRelativeKind } from "../advantages/normalised-group-relative.ts";
import { fixed } from "./parts.ts";
import { composed, definePreset, ppu } from "./preset.ts";

/** The variant of REINFORCE++ with the group's mean as baseline. */
export const reinforcePlusPlusBaseline = definePreset({
  source: "arXiv:2501.03262",
  settings: composed("reinforce++-baseline", {
    advantage: z.strictObject({ kind: fixed("normalised-group-relative"), ...normalisedGroupRelativeKind.settings }).prefault({}),
    update: ppu("token"),
    aggregation: "token-mean",
  }),
});
