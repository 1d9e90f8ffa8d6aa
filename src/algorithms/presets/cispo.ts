import { cispoKind } from "../objectives/cispo.ts";
import { composed, definePreset, groupRelative, part } from "./preset.ts";

/** Eq. 4: mean over all tokens of the batch; off-policy, 16 rounds of updates on a batch (§3.1). */
export const cispo = definePreset({
  source: "arXiv:2506.13585",
  settings: composed("cispo", {
    advantage: groupRelative("group"),
    update: part("cispo", cispoKind),
    aggregation: "token-mean",
    miniBatches: 16,
  }),
});
