import { z } from "zod";
import { defineBranchRule } from "./rule-kind.ts";

/** ARPO's published code:  p = clip(u − w·ΔH, 0, 1), u ~ U(0, 1);  p ≤ threshold     so with chance clip(threshold + w·ΔH) */
export const referenceRule = defineBranchRule({
  kind: "reference",
  formula: "with chance clip(threshold + w·ΔH, 0, 1)",
  source: "dongguanting/ARPO",
  settings: {
    /** w: how much a rise of the entropy counts. */
    weight: z.number().default(0.2),
    /** Chance to branch where the entropy has not risen. */
    threshold: z.number().min(0).max(1).default(0.5),
  },
  branches: ({ rise }, { weight, threshold }, random) => Math.min(1, Math.max(0, random.uniform() - weight * rise)) <= threshold,
});

/** ARPO's paper (arXiv:2507.19849, eq. 4):  α + β·ΔH > τ */
export const paperRule = defineBranchRule({
  kind: "paper",
  formula: "where α + β·ΔH > τ",
  source: "arXiv:2507.19849",
  settings: {
    /** α and τ: so that the paper's rule branches where the published code does so more often than not. */
    alpha: z.number().default(0.5),
    /** β. 0.2: as `weight` of the published code. */
    beta: z.number().default(0.2),
    /** τ. */
    threshold: z.number().default(0.5),
  },
  branches: ({ rise }, { alpha, beta, threshold }) => alpha + beta * rise > threshold,
});
