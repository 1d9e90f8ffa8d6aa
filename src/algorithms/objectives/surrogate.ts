import type { Random } from "../../core/random.ts";
import type { UpdateConfig } from "../parts.ts";
import { cispo } from "./cispo.ts";
import { clipCov, klCov } from "./covariance.ts";
import { dppo } from "./dppo.ts";
import { dro } from "./dro.ts";
import { gmpo } from "./gmpo.ts";
import type { LossAndWeights, SurrogateBatch } from "./objective.ts";
import { ppu } from "./ppu.ts";
import { reinforce } from "./reinforce.ts";
import { sapo } from "./sapo.ts";

/** What one row of an update rule's batch is. At token level it makes no difference, and turns need no copying. */
export function rowsOf(update: UpdateConfig): "turns" | "trajectories" {
  return update.kind === "gmpo" || ("level" in update && update.level === "sequence") ? "trajectories" : "turns";
}

/** Whether the weights at ratio 1 are the advantages, whatever the log-probs. */
export function knownAtRatioOne({ kind }: UpdateConfig): boolean {
  return kind !== "clip-cov" && kind !== "kl-cov";
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
