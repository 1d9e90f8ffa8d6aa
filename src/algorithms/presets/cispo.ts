import { z } from "zod";
import { cispoKind } from "../objectives/cispo.ts";
import { fixed } from "./parts.ts";
import { composed, definePreset, groupRelative } from "./preset.ts";

/** Eq. 4: mean over all tokens of the batch; off-policy, 16 rounds of updates on a batch (§3.1). */
export const cispo = definePreset({
  source: "arXiv:2506.13585",
  settings: composed("cispo", {
    advantage: groupRelative("group"),
    update: z.strictObject({ kind: fixed("cispo"), ...cispoKind.settings }).prefault({}),
    aggregation: "token-mean",
    miniBatches: 16,
  }),
});
