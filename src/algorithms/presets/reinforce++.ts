import { normalisedReturnsKind } from "../advantages/normalised-returns.ts";
import { composed, definePreset, part, ppu } from "./preset.ts";

export const reinforcePlusPlus = definePreset({
  source: "arXiv:2501.03262",
  settings: composed("reinforce++", {
    advantage: part("normalised-returns", normalisedReturnsKind),
    update: ppu("token"),
    aggregation: "token-mean",
  }),
});
