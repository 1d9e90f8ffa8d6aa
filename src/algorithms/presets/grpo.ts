import { composed, definePreset, groupRelative, ppu } from "./preset.ts";

/** Eq. 3 of the paper. */
export const grpo = definePreset({
  source: "arXiv:2402.03300",
  settings: composed("grpo", {
    advantage: groupRelative("group"),
    update: ppu("token"),
    aggregation: "sequence-mean-token-mean",
  }),
});
