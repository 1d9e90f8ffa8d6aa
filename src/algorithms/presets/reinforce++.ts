import { z } from "zod";
import { normalisedReturnsKind } from "../advantages/normalised-returns.ts";
import { fixed } from "./parts.ts";
import { composed, definePreset, ppu } from "./preset.ts";

export const reinforcePlusPlus = definePreset({
  source: "arXiv:2501.03262",
  settings: composed("reinforce++", {
    advantage: z.strictObject({ kind: fixed("normalised-returns"), ...normalisedReturnsKind.settings }).prefault({}),
    update: ppu("token"),
    aggregation: "token-mean",
  }),
});
