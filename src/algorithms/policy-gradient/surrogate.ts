import type { Random } from "../../core/random.ts";
import { cispo } from "../objectives/cispo.ts";
import { clipCov, klCov } from "../objectives/covariance.ts";
import { dppo } from "../objectives/dppo.ts";
import { dro } from "../objectives/dro.ts";
import { gmpo } from "../objectives/gmpo.ts";
import type { LossAndWeights, SurrogateBatch } from "../objectives/objective.ts";
import { ppu } from "../objectives/ppu.ts";
import { reinforce } from "../objectives/reinforce.ts";
import { sapo } from "../objectives/sapo.ts";
import type { UpdateConfig } from "../settings/parts.ts";

/** Returns what one row of an update rule's batch is. At token level it makes no difference, and turns need no copying. */
export function rowsOf(update: UpdateConfig): "turns" | "trajectories" {
  return update.kind === "gmpo" || ("level" in update && update.level === "sequence") ? "trajectories" : "turns";
}

/** Whether the weights at ratio 1 are the advantages, whatever the log-probs. */
export function knownAtRatioOne({ kind }: UpdateConfig): boolean {
  return kind !== "clip-cov" && kind !== "kl-cov";
}

/**
 * Whether the loss of a token with advantage 0 matters: as a member of statistics over all tokens, or by a pull to the old policy, which is 0
 * at ratio 1.
 */
export function readsEveryToken({ kind }: UpdateConfig, ratioOne: boolean): boolean {
  return kind === "clip-cov" || kind === "kl-cov" || (kind === "dro" && !ratioOne);
}

/** The loss of an update rule on rows as `rowsOf` says. */
export function surrogate(update: UpdateConfig, batch: SurrogateBatch, random: Random): LossAndWeights {
  switch (update.kind) {
    case "reinforce":
      return reinforce(batch, update);
    case "ppu":
      return ppu(batch, { ...update, level: update.level === "token" ? "token" : "sequence" });
    case "cispo":
      return cispo(batch, update);
    case "sapo":
      return sapo(batch, update);
    case "gmpo":
      return gmpo(batch, update);
    case "dppo":
      return dppo(batch, update);
    case "dro":
      return dro(batch, update);
    case "clip-cov":
      return clipCov(batch, { ...update, between: [update.covLow, update.covHigh] }, random);
    case "kl-cov":
      return klCov(batch, update);
    default:
      return update satisfies never;
  }
}
