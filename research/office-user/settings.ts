import { z } from "zod";
import { officeSettingsSchema } from "../../extensions/office/settings.ts";
import { acts } from "../../src/core/acts.ts";
import { settingsDoor } from "../../src/core/door.ts";
import { longestTimer } from "../../src/core/timer.ts";

const scripted = z.strictObject({ kind: z.literal("scripted") });

const endpoint = z.strictObject({
  kind: z.literal("endpoint"),
  model: z.string().min(1).describe("who plays the user"),
  baseUrl: acts
    .address(z.url({ protocol: /^https?$/, error: "an http or https URL" }))
    .describe("of a chat-completions server, such as `https://api.openai.com/v1`"),
  apiKeyEnv: acts
    .variable(z.string().regex(/^[A-Z_][A-Z0-9_]*$/, "the name of an environment variable, in capitals"))
    .nullable()
    .default("OPENAI_API_KEY")
    .describe("environment variable with the key; null: none"),
  /** With one answer to a conversation a user would say the same in all rollouts of a task. */
  temperature: z.number().min(0).default(1),
  maxTokens: z.int().min(1).default(300).describe("of one message"),
  timeoutMs: z.int().min(1).max(longestTimer).default(60_000).describe("for one message"),
  retries: z.int().min(0).default(5).describe("after 408, 409, 429, 5xx or a broken connection"),
  answers: acts
    .writes(z.string().min(1))
    .describe(
      "a folder that keeps what the user said: the same conversation and seed get the same answer, so that replays are exact",
    ),
});
export type EndpointUser = z.output<typeof endpoint>;

export const officeUserSettingsSchema = settingsDoor("settings of the office with a user", {
  office: officeSettingsSchema.prefault({}).describe("of the office itself"),
  user: z.discriminatedUnion("kind", [scripted, endpoint]).default({ kind: "scripted" }).describe("`scripted` or `endpoint`"),
});
