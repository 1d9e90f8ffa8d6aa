import { z } from "zod";
import { callFormatNames } from "../actions/formats/registry.ts";

/** How a model's chat template is used. Recorded in the run. */
export const chatSettingsSchema = z.strictObject({
  format: z
    .enum(callFormatNames as [string, ...string[]])
    .optional()
    .describe(
      "format of tool calls ([models.md](models.md#tool-calls)); if omitted the template's, else the one that the model's family was trained in, else `hermes`",
    ),
  tools: z
    .enum(["template", "system", "none"])
    .optional()
    .describe(
      "where the model reads its tools: `template`, `system` message with the call format, `none`. Default `template` if the template shows tools or calls, else `system`",
    ),
  thinking: z
    .enum(["template", "keep", "drop"])
    .default("template")
    .describe("thinking blocks in the history: as the `template` has them, `keep` as sampled, `drop` after their message"),
  template: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .default({})
    .describe("template variables, such as `enable_thinking`, `date_string`, `tools_in_user_message`"),
});
export type ChatSettings = z.output<typeof chatSettingsSchema>;
