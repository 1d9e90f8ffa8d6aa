import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import { longestTimer } from "../../src/core/timer.ts";
import { promptKinds } from "../arpo-protocol/prompt.ts";

const file = acts.reads(z.string().min(1));
const files = z.union([file, z.array(file).min(1)]).optional();
const count = z.int().min(1).optional();

/** Keeps answers for other runs. */
const folder = acts.writes(z.string().min(1)).optional();

export const deepResearchSettingsSchema = z.strictObject({
  data: z
    .strictObject({ train: files, validation: files, test: files, challenge: files })
    .describe(
      "`{ train, validation, test, challenge }`: a file of questions and answers each, or a list. Questions of other splits are left out of `train`",
    ),
  search: z
    .discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("local"), path: file }),
      z.strictObject({
        kind: acts.address(z.literal("serper")),
        /** The environment variable that holds the service's key. */
        keyEnv: acts.variable(z.string().min(1)).default("SERPER_API_KEY"),
        folder,
      }),
      z.strictObject({ kind: z.literal("searxng"), url: acts.address(z.url()), folder }),
    ])
    .optional()
    .describe(
      '`{ kind: "local", path }`; `{ kind: "serper" }`, with the key in the variable `keyEnv` (`SERPER_API_KEY`); `{ kind: "searxng", url }`. `folder` keeps answers of web services',
    ),
  /** The deep-search variant: pages of the results are read and condensed by a second model. */
  deepSearch: z
    .strictObject({
      summariser: z.strictObject({
        baseUrl: acts
          .address(z.url())
          .describe("server of the model that condenses pages ([deep search](README.md#deep-search))"),
        model: z.string().min(1).describe("its name"),
        keyEnv: acts.variable(z.string().min(1)).optional().describe("environment variable with its key"),
        temperature: z.number().min(0).default(0.6).describe("its temperature"),
        maxTokens: z.int().min(1).default(4096).describe("tokens of its answer"),
        request: z.record(z.string(), z.unknown()).default({}).describe("further fields of its requests; null removes one"),
      }),
      pages: z.int().min(1).max(10).default(10).describe("results whose pages are read"),
      around: z.int().min(1).default(3000).describe("characters of a page around the sentence nearest to the snippet"),
      allowLoopback: acts
        .by(z.boolean(), (allowed) => (allowed ? [{ kind: "connects", what: "servers of this machine" }] : []))
        .default(false)
        .describe("permits pages of this machine's servers"),
    })
    .optional(),
  recorded: file.optional().describe("a file of recorded searches, used first"),
  protocol: z.enum(["training", "evaluation"]).default("training").describe("ARPO's `training` or `evaluation` protocol"),
  limits: z
    .strictObject({
      calls: count.describe("calls of a response; 3 in training, no limit in evaluation"),
      search: count.describe("searches among them; no limit, 10"),
      python: count.describe("Python calls; no limit, 5"),
      resultLength: count.describe("characters of a result; 100,000 if omitted"),
      /** 4096: ARPO's runs for reasoning. */
      responseTokens: z
        .int()
        .min(1)
        .default(4096)
        .describe("tokens of a response, results included; raise `rollout.maxTokens` with it"),
    })
    .prefault({}),
  grader: z
    .enum(["f1", "by-ability"])
    .default("f1")
    .describe("token F1, or `by-ability`: for mathematics 1 if the formulas are equal"),
  ability: z.enum(["qa", "math"]).default("qa").describe("of questions without one"),
  prompt: z.enum(promptKinds).default("code-search").describe("tools that the system message explains"),
  system: z.string().optional().describe("system message of questions without a prompt; that of `prompt` if omitted"),
  /** ARPO's limit for a Python call is 120 s. */
  python: z
    .strictObject({
      interpreters: z.int().min(1).default(2).describe("Python processes"),
      timeoutMs: z.number().positive().max(longestTimer).default(120_000).describe("for one call"),
      memoryMb: z.number().min(64).max(4096).default(256).describe("of Python's memory"),
    })
    .prefault({}),
});

export type DeepResearchSettings = z.output<typeof deepResearchSettingsSchema>;
