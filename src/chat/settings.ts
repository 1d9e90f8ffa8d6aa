import { z } from "zod";
import { callFormatNames } from "../actions/formats/registry.ts";

/** How a model's chat template is used. Recorded in the run. */
export const chatSettingsSchema = z.strictObject({
  /**
   * How the model calls tools. Found by rendering a call if left out. Where a template shows no calls, the format that its family was trained
   * in, else "hermes".
   */
  format: z.enum(callFormatNames as [string, ...string[]]).optional(),
  /**
   * Where the model reads its tools: as the template shows them; in the system message, with the format of calls; or nowhere, for a model that has
   * learned them. Default "template" if the template shows tools or calls, else "system".
   */
  tools: z.enum(["template", "system", "none"]).optional(),
  /**
   * A thinking block in the history: as the template has it, which is a new context wherever it drops one; kept as it was sampled; or
   * dropped once its message is over.
   */
  thinking: z.enum(["template", "keep", "drop"]).default("template"),
  /** Variables for the template, such as `enable_thinking`, `date_string` or `tools_in_user_message`. */
  template: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).default({}),
});
export type ChatSettings = z.output<typeof chatSettingsSchema>;
