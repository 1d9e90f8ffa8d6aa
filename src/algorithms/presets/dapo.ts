import { dynamicSampling, overlong } from "./parts.ts";
import { composed, definePreset, groupRelative, ppu } from "./preset.ts";

/**
 * Clip-higher (§3.1), dynamic sampling (§3.2), token mean (§3.3), overlong punishment (§3.4); 16 steps a batch: 512 prompts in mini-batches
 * of 32 (§4.1).
 */
export const dapo = definePreset({
  source: "arXiv:2503.14476",
  settings: composed("dapo", {
    advantage: groupRelative("group"),
    update: ppu("token", 0.2, 0.28),
    aggregation: "token-mean",
    miniBatches: 16,
  }).extend({ dynamicSampling: dynamicSampling.prefault({}), overlong: overlong.optional() }),
});
