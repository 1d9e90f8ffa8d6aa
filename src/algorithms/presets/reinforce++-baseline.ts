import { normalisedGroupRelativeKind } from "../advantages/normalised-group-relative.ts";
import { composed, definePreset, part, ppu } from "./preset.ts";

/** The variant of REINFORCE++ with the group's mean as baseline. */
export const reinforcePlusPlusBaseline = definePreset({
  source: "arXiv:2501.03262",
  settings: composed("reinforce++-baseline", {
    advantage: part("normalised-group-relative", normalisedGroupRelativeKind),
    update: ppu("token"),
    aggregation: "token-mean",
  }),
});
