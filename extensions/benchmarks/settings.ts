import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import { longestTimer } from "../../src/core/timer.ts";
import { promptKinds } from "../arpo-protocol/prompt.ts";

const file = acts.reads(z.string().min(1));
const files = z.union([file, z.array(file).min(1)]).optional();
const count = z.int().min(1).optional();

const webSettings = {
  /** The environment variable that holds the service's key. */
  keyEnv: acts.variable(z.string().min(1)),
  /** Keeps answers for other runs. */
  folder: acts.writes(z.string().min(1)).optional(),
};
const service = <Name extends string>(name: Name) => acts.address(z.literal(name));

export const deepResearchSettingsSchema = z.strictObject({
  /** Files of questions and answers, of each split. Questions of other splits are left out of `train`. */
  data: z.strictObject({ train: files, validation: files, test: files, challenge: files }),
  /** The collection that is searched. */
  search: z
    .discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("local"), path: file }),
      z.strictObject({ kind: service("brave"), ...webSettings, keyEnv: webSettings.keyEnv.default("BRAVE_API_KEY") }),
      z.strictObject({ kind: service("serper"), ...webSettings, keyEnv: webSettings.keyEnv.default("SERPER_API_KEY") }),
      z.strictObject({ kind: service("tavily"), ...webSettings, keyEnv: webSettings.keyEnv.default("TAVILY_API_KEY") }),
      z.strictObject({ kind: z.literal("searxng"), url: acts.address(z.url()), folder: webSettings.folder }),
    ])
    .optional(),
  /** The deep-search variant: pages of the results are read and condensed by a second model. */
  deepSearch: z
    .strictObject({
      summariser: z.strictObject({
        /** The address of a server of the chat-completions protocol. */
        baseUrl: acts.address(z.url()),
        model: z.string().min(1),
        /** The environment variable that holds the server's key. */
        keyEnv: acts.variable(z.string().min(1)).optional(),
        temperature: z.number().min(0).default(0.6),
        maxTokens: z.int().min(1).default(4096),
        /** Further fields of its requests. null leaves one out. */
        request: z.record(z.string(), z.unknown()).default({}),
      }),
      /** Results whose pages are read. */
      pages: z.int().min(1).max(10).default(10),
      /** Characters of a page to either side of the sentence that is nearest to the snippet. */
      around: z.int().min(1).default(3000),
      /** Lets pages of this machine's own servers be read. */
      allowLoopback: acts
        .by(z.boolean(), (allowed) => (allowed ? [{ kind: "connects", what: "servers of this machine" }] : []))
        .default(false),
    })
    .optional(),
  /** A file of recorded searches, asked first. Without `search` there are no results for others. */
  recorded: file.optional(),
  /** The protocol of ARPO's rollouts in training, or of its evaluation. */
  protocol: z.enum(["training", "evaluation"]).default("training"),
  limits: z
    .strictObject({
      /** Calls of a response, of both tools together. */
      calls: count,
      search: count,
      python: count,
      /** Characters of a result. */
      resultLength: count,
      /** Tokens of a response, results included. 4096: ARPO's runs for reasoning. */
      responseTokens: z.int().min(1).default(4096),
    })
    .prefault({}),
  /** How good an answer is: token F1 for all (the published code), or for mathematics whether the formulas are the same. */
  grader: z.enum(["f1", "by-ability"]).default("f1"),
  /**
   * Whether formulas are the same, for success of mathematics in the evaluation protocol: by the published code's rules, or by symbolic mathematics (Compute
   * Engine, to be installed). Rules count where symbolic mathematics cannot decide.
   */
  math: z.enum(["rules", "symbolic"]).default("rules"),
  /** The ability of questions that do not say theirs. */
  ability: z.enum(["qa", "math"]).default("qa"),
  /** The tools that the system message explains; `code-search-zh` is the Chinese one. Without search nothing needs to be there to be searched. */
  prompt: z.enum(promptKinds).default("code-search"),
  /** The system message of questions that do not bring their own prompt. Default that of `prompt`. */
  system: z.string().optional(),
  /** ARPO's limit for a Python call is 120 s. */
  python: z
    .strictObject({
      interpreters: z.int().min(1).default(2),
      timeoutMs: z.number().positive().max(longestTimer).default(120_000),
      memoryMb: z.number().min(64).max(4096).default(256),
    })
    .prefault({}),
});

export type DeepResearchSettings = z.output<typeof deepResearchSettingsSchema>;
