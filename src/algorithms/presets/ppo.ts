import { gaeKind } from "../advantages/gae.ts";
import { composed, definePreset, part, ppu } from "./preset.ts";

/** PPO with a critic. 4 steps a batch: verl's default of 1,024 prompts in mini-batches of 256. */
export const ppo = definePreset({
  source: "arXiv:1707.06347",
  settings: composed("ppo", {
    advantage: part("gae", gaeKind),
    update: ppu("token"),
    aggregation: "token-mean",
    miniBatches: 4,
  }),
});
