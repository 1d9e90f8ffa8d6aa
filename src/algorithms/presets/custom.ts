import { anyAdvantage } from "../advantages/kinds.ts";
import { anyUpdate } from "../objectives/kinds.ts";
import { anyTerm } from "../terms/kinds.ts";
import { dynamicSampling, overlong } from "./parts.ts";
import { composed, definePreset } from "./preset.ts";

/** Any advantage with any update, both given in full. */
export const custom = definePreset({
  source: "of each part",
  settings: composed("custom", { advantage: anyAdvantage, update: anyUpdate, aggregation: "token-mean" }).extend({
    dynamicSampling: dynamicSampling.optional(),
    overlong: overlong.optional(),
    /** A loss beside the update rule's, on tokens that the policy did not write. */
    term: anyTerm.optional(),
  }),
});
