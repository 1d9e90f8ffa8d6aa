import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import { longestTimer } from "../../src/core/timer.ts";
import { variableName } from "../../src/rewards/config.ts";
import { common } from "../../src/rewards/reward-kind.ts";

/** The rubric that the judge gets where none is given. */
const defaultRubric = [
  "An attempt that reaches the goal of the task is better than one that does not.",
  "Of two that reach it, the one that gets there more directly is better; of two that do not, the one that comes closer.",
  "Claims that the tools' answers do not support, and changes that nobody asked for, make an attempt worse.",
].join("\n");

/** A reward by a model behind an endpoint. */
export const judgeSettings = z
  .strictObject({
    kind: z.literal("judge"),
    ...common,
    of: z
      .enum(["group", "episode"])
      .default("group")
      .describe("what it scores: the attempts of a group against each other, or each episode by itself"),
    reference: z
      .string()
      .min(1)
      .optional()
      .describe("of an episode: the task's field that holds what is right, such as `answer`"),
    model: z.string().min(1).describe("the judge"),
    baseUrl: acts
      .address(z.url({ protocol: /^https?$/, error: "an http or https URL" }))
      .describe("of a chat-completions server, such as `https://api.openai.com/v1`"),
    apiKeyEnv: acts
      .variable(z.string().regex(variableName, "the name of an environment variable, in capitals"))
      .nullable()
      .default("OPENAI_API_KEY")
      .describe("environment variable with the key; null: none"),
    rubric: z.string().min(1).default(defaultRubric).describe("criteria that make one attempt better than another"),
    /** Reasoning models refuse any other than their own. */
    temperature: z.number().min(0).optional().describe("of the judge; the server's own if omitted"),
    timeoutMs: z.int().min(1).max(longestTimer).default(60_000).describe("for one answer"),
    retries: z.int().min(0).default(5).describe("after 408, 409, 429, 5xx or a broken connection"),
    attempts: z.int().min(1).default(3).describe("answers requested until one is usable"),
    concurrency: z.int().min(1).default(8).describe("questions in flight"),
    onFailure: z
      .enum(["error", "skip-group"])
      .default("error")
      .describe("without a usable answer: stop the run (`error`), or exclude the group (`skip-group`)"),
    cache: acts.writes(z.string().min(1)).optional().describe("a folder of answers that several runs share"),
  })
  .refine(({ of, reference }) => of === "episode" || reference === undefined, {
    path: ["reference"],
    error: 'none unless `of` is "episode"',
  });

export type JudgeReward = z.output<typeof judgeSettings>;

declare module "../../src/rewards/kinds.ts" {
  interface RewardSettings {
    readonly judge: typeof judgeSettings;
  }
}
