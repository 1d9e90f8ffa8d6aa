import { z } from "zod";
import { acts } from "../../src/core/acts.ts";

export const bfclSettingsSchema = z.strictObject({
  data: acts
    .reads(z.string().min(1))
    .optional()
    .describe("folder with the tasks; that of `npm run research -- data bfcl` if omitted"),
  python: acts
    .program(z.string().min(1))
    .optional()
    .describe("a Python 3.11 with the official evaluator; `RETROGRADE_BFCL_PYTHON`, else `python3`, if omitted"),
  format: z
    .enum(["native", "python"])
    .default("native")
    .describe("`native`: tools are called by the chat template; `python`: as Python text"),
  reward: z
    .enum(["sparse", "dense"])
    .default("sparse")
    .describe("`sparse`: the verdict, 1 or 0; `dense`: the share of checked turns that passed before the first failure"),
  /** 20 is the benchmark's. */
  stepsPerTurn: z.int().min(1).default(20).describe("steps of a user's turn; the next one ends the task"),
});

export type BfclSettings = z.output<typeof bfclSettingsSchema>;
