import type { z } from "zod";
import { choiceOf, kindIn } from "../../core/kinds.ts";
import { aepoUpdateKind } from "./aepo.ts";
import { appoUpdateKind } from "./appo.ts";
import { cispoKind } from "./cispo.ts";
import { clipCovKind, klCovKind } from "./covariance.ts";
import { dppoKind } from "./dppo.ts";
import { droKind } from "./dro.ts";
import { gmpoKind } from "./gmpo.ts";
import { ppuKind } from "./ppu.ts";
import { reinforceKind } from "./reinforce.ts";
import { sapoKind } from "./sapo.ts";
import type { UpdateKind } from "./update-kind.ts";

/** The update rules. A new one is a file and a line here. */
export const updateKinds = [
  reinforceKind,
  ppuKind,
  cispoKind,
  sapoKind,
  gmpoKind,
  dppoKind,
  droKind,
  clipCovKind,
  klCovKind,
  aepoUpdateKind,
  appoUpdateKind,
] as const;

/** Any update rule, named by its kind. */
export const anyUpdate = choiceOf(updateKinds);
export type UpdateConfig = z.output<typeof anyUpdate>;

/** Returns the update rule that settings name. Its functions take those settings. */
export function updateKindOf(config: UpdateConfig): UpdateKind {
  return kindIn<UpdateKind>(updateKinds, config);
}
