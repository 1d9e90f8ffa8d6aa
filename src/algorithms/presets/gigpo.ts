import { gigpoKind } from "../advantages/gigpo.ts";
import { composed, definePreset, part, ppu } from "./preset.ts";

/** Token mean: the authors' code. */
export const gigpo = definePreset({
  source: "arXiv:2505.10978",
  settings: composed("gigpo", {
    advantage: part("gigpo", gigpoKind),
    update: ppu("token"),
    aggregation: "token-mean",
  }),
});
