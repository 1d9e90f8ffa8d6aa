import { z } from "zod";
import { acts } from "../../src/core/acts.ts";

export const bfclSettingsSchema = z.strictObject({
  /** The folder with the tasks. Default: the folder that `retrograde-rl data bfcl` downloads to. */
  data: acts.reads(z.string().min(1)).optional(),
  /** A Python 3.11 with the official evaluator, bfcl-eval. Default: the variable RETROGRADE_BFCL_PYTHON, else python3. */
  python: acts.program(z.string().min(1)).optional(),
  /** How tools are called: by the model's chat template, or as Python text. */
  format: z.enum(["native", "python"]).default("native"),
  /** sparse: the verdict, 1 or 0. dense: the share of checked turns that passed before the first that did not. */
  reward: z.enum(["sparse", "dense"]).default("sparse"),
  /** Most steps of a turn: a task ends after the step that exceeds it. 20 is the benchmark's. */
  stepsPerTurn: z.int().min(1).default(20),
});

export type BfclSettings = z.output<typeof bfclSettingsSchema>;
