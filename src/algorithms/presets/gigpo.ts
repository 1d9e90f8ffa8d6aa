import { z } from "zod";
import { gigpoKind } from "../advantages/gigpo.ts";
import { fixed } from "./parts.ts";
import { composed, definePreset, ppu } from "./preset.ts";

/** Token mean: the authors' code. */
export const gigpo = definePreset({
  source: "arXiv:2505.10978",
  settings: composed("gigpo", {
    advantage: z.strictObject({ kind: fixed("gigpo"), ...gigpoKind.settings }).prefault({}),
    update: ppu("token"),
    aggregation: "token-mean",
  }),
});
