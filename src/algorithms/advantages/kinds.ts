import type { z } from "zod";
import { choiceOf, kindIn } from "../../core/kinds.ts";
import type { AdvantageKind } from "./advantage.ts";
import { aepoKind } from "./aepo.ts";
import { sharedMeanKind } from "./attribution.ts";
import { bestOfGroupKind } from "./best-of-group.ts";
import { carlKind } from "./carl.ts";
import { distillationKind } from "./distillation.ts";
import { dualGroupKind } from "./dual-group.ts";
import { gaeKind } from "./gae.ts";
import { gdpoKind } from "./gdpo.ts";
import { gigpoKind } from "./gigpo.ts";
import { gpgKind } from "./gpg.ts";
import { groupRelativeKind } from "./group-relative.ts";
import { leaveOneOutKind } from "./leave-one-out.ts";
import { lengthWeightedKind } from "./length-weighted.ts";
import { maxrlKind } from "./maxrl.ts";
import { normalisedGroupRelativeKind } from "./normalised-group-relative.ts";
import { normalisedReturnsKind } from "./normalised-returns.ts";
import { selfDistillationKind } from "./self-distillation.ts";
import { treeKind } from "./tree.ts";
import { treeGrpoKind } from "./tree-grpo.ts";

/** The advantages. A new one is a file and a line here. */
export const advantageKinds = [
  gaeKind,
  groupRelativeKind,
  leaveOneOutKind,
  normalisedReturnsKind,
  normalisedGroupRelativeKind,
  gigpoKind,
  treeKind,
  sharedMeanKind,
  lengthWeightedKind,
  bestOfGroupKind,
  gpgKind,
  maxrlKind,
  gdpoKind,
  treeGrpoKind,
  carlKind,
  aepoKind,
  dualGroupKind,
  distillationKind,
  selfDistillationKind,
] as const;

/** Any advantage, named by its kind. */
export const anyAdvantage = choiceOf(advantageKinds);
export type AdvantageConfig = z.output<typeof anyAdvantage>;

/** Returns the advantage that settings name. Its functions take those settings. */
export function advantageKindOf(config: AdvantageConfig): AdvantageKind {
  return kindIn<AdvantageKind>(advantageKinds, config);
}
