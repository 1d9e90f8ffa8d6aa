import { z } from "zod";
import { leaveOneOutKind } from "../advantages/leave-one-out.ts";
import { fixed } from "./parts.ts";
import { composed, definePreset, part } from "./preset.ts";

/** The mean over a trajectory's tokens in place of the paper's sum, as verl and algorithms with ratios have it. */
export const rloo = definePreset({
  source: "arXiv:2402.14740",
  settings: composed("rloo", {
    advantage: part("leave-one-out", leaveOneOutKind),
    update: z.strictObject({ kind: fixed("reinforce"), level: fixed("sequence") }).prefault({}),
    aggregation: "sequence-mean-token-mean",
  }),
});
