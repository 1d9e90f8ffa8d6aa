import { composed, definePreset, groupRelative, ppu } from "./preset.ts";

/** The widths and the four mini-batches a batch of §5.1. */
export const gspo = definePreset({
  source: "arXiv:2507.18071",
  settings: composed("gspo", {
    advantage: groupRelative("group"),
    update: ppu("sequence", 3e-4, 4e-4),
    aggregation: "sequence-mean-token-mean",
    miniBatches: 4,
  }),
});
