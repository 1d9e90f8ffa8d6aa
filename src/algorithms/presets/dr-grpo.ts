import { composed, definePreset, groupRelative, ppu } from "./preset.ts";

/** No deviation, no length. Any constant will do; 1,000 is about the tokens that a trajectory may have. */
export const drGrpo = definePreset({
  source: "arXiv:2503.20783",
  settings: composed("dr-grpo", {
    advantage: groupRelative("none"),
    update: ppu("token"),
    aggregation: { tokenSumOver: 1000 },
  }),
});
