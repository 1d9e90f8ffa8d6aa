import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { complete } from "../../src/completions/client.ts";
import { door, nearestIssue } from "../../src/core/door.ts";
import { ConfigError, EnvError, reasonOf } from "../../src/core/errors.ts";
import { jsonOf } from "../../src/core/json.ts";
import { present } from "../../src/core/present.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { requireFile } from "../../src/files/bounded.ts";
import { loadModule } from "../../src/training/config/config-file.ts";
import { type Evals, textOf } from "./evals.ts";

const any = z.unknown().optional();
/** Grading belongs to promptfoo; what a provider is asked, or asked with, does not. */
const optionsSchema = door(
  "options of a test of promptfoo",
  {
    ...{ transform: any, transformVars: any, postprocess: any, prefix: any, suffix: any, disableVarExpansion: any },
    ...{ provider: any, rubricPrompt: any, factuality: any },
  },
  { ignores: ["disableDefaultAsserts"], neutral: { runSerially: false, disableConversationVar: true } },
);
const testSchema = door(
  "a test of promptfoo",
  { vars: any, assert: any, threshold: any, options: optionsSchema.nullish(), assertScoringFunction: any, prompts: any },
  { ignores: ["description", "metadata"] },
);
const providerSchema = z.union([
  z.string(),
  z.custom<unknown>((value) => typeof value === "function"),
  door(
    "a provider of promptfoo, instead of which the agent answers,",
    {
      id: z.string(),
      config: door(
        "the settings of a provider of promptfoo",
        {},
        {
          // Where the model is, and how it is sampled: both are the run's.
          ignores: [
            ...["temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "maxOutputTokens", "seed", "apiKey"],
            ...["apiKeyEnvar", "apiBaseUrl", "apiHost", "organization", "region", "headers", "cost", "timeout", "maxRetries"],
          ],
        },
      ).nullish(),
    },
    { ignores: ["label", "delay", "env", "inputs"] },
  ),
]);
const providersSchema = z.union([providerSchema, z.array(providerSchema)]).optional();
const configSchema = door(
  "a configuration of promptfoo",
  {
    prompts: z.unknown().refine((prompts) => prompts !== undefined, "prompts"),
    tests: z.union([z.string(), z.array(z.union([z.string(), testSchema])), z.looseObject({ path: z.string() })]).optional(),
    defaultTest: z.union([z.string(), testSchema]).optional(),
    scenarios: z
      .array(z.union([z.string(), door("a scenario", { config: z.array(any), tests: z.array(testSchema) })]))
      .optional(),
    ...{ nunjucksFilters: any, env: any, providers: providersSchema, targets: providersSchema },
  },
  {
    ignores: [
      ...["$schema", "description", "tags", "metadata", "sharing", "outputPath", "writeLatestResults", "derivedMetrics"],
      "evaluateOptions",
    ],
  },
);

/** One row of promptfoo's own expansion: a test with one value of each variable, and one prompt. */
export interface PromptfooTask extends TaskRequest {
  /** The test with its variables and assertions, and those of the default test. */
  readonly test: Readonly<Record<string, unknown>>;
  /** The prompt before its variables are put in. */
  readonly template: string;
}

type Provider = (
  prompt: string,
  context: { readonly prompt: { readonly template?: string; readonly raw: string } },
) => Promise<object>;
const rowSchema = z.looseObject({
  ...{ success: z.boolean(), score: z.number(), error: z.string().nullish(), failureReason: z.number() },
  testCase: z.record(z.string(), z.unknown()),
});
interface Promptfoo {
  evaluate(suite: object, options: object): Promise<{ toEvaluateSummary(): Promise<{ readonly results: unknown[] }> }>;
}

const largestFile = 64 * 2 ** 20;
/** promptfoo's reasons for a row that failed: an assertion, and an error. */
const [noFailure, failedAssertion] = [0, 1];

/**
 * Reads a configuration of promptfoo: its rows are tasks, as the promptfoo that is installed beside the file makes them of prompts, tests, variables
 * and files. It also scores the answers, with its transforms and assertions. The agent answers one prompt, or a prompt's messages.
 * @param file YAML, JSON or a module
 * @throws ConfigError naming what cannot be used
 * @example
 * await trainAgent({ ...(await fromPromptfoo("promptfooconfig.yaml")), agent: "./agent.ts", model: "Qwen/Qwen3-0.6B" });
 */
export async function fromPromptfoo(file: string): Promise<Evals<PromptfooTask>> {
  const path = resolve(file);
  const require = createRequire(join(dirname(path), "here.js"));
  const config = understood(configSchema, await configOf(path, require), file);
  const { providers: _, targets: __, sharing: ___, outputPath: ____, ...suite } = absolute(config, dirname(path)) as Suite;
  const promptfoo = await installed(require);
  const rendered: { readonly prompt: string; readonly template: string }[] = [];
  const expanding: Provider = async (prompt, { prompt: { template, raw } }) => {
    rendered.push({ prompt, template: template ?? raw });
    // An error runs no assertion, some of which ask a model.
    return { error: "not asked yet" };
  };
  const rows = await evaluated(promptfoo, suite, expanding).catch((cause: unknown) => {
    throw new ConfigError(file, reasonOf(cause), { expected: "a configuration that promptfoo can expand", cause });
  });
  const tasks = rows.map(({ testCase, error }, i) => {
    const where = `${file}: test ${i + 1} of the expansion`;
    if (rows.length !== rendered.length) throw new ConfigError(where, error, { expected: "a prompt" });
    const row = present(rendered[i], "a rendered prompt");
    understood(testSchema, testCase, where);
    requireScorable(testCase.assert, where);
    if (/\b_conversation\b/.test(row.template))
      throw new ConfigError(`${where}: _conversation`, "used", { expected: "a prompt without answers to other tests" });
    return { ...row, test: testCase };
  });
  if (tasks.length === 0) throw new ConfigError(file, "no tests", { expected: "at least one test" });
  return {
    tasks,
    agent: async (prompt, { baseUrl, apiKey, name, signal }) => {
      const asked = { model: name, messages: messagesOf(prompt) };
      return (await complete({ baseUrl, apiKey, retries: 0 }, asked, signal)).content;
    },
    reward: async ({ task: { prompt, test, template }, answer }) => {
      let seen: string | undefined;
      const answering: Provider = async (shown) => {
        seen = shown;
        return { output: textOf(answer) };
      };
      const one = { prompts: [template], tests: [test], nunjucksFilters: suite.nunjucksFilters, env: suite.env };
      const [row] = await evaluated(promptfoo, one, answering).catch((cause: unknown) => {
        throw new EnvError("a test of promptfoo", reasonOf(cause), { expected: "a score", cause });
      });
      if (row === undefined || seen !== prompt)
        throw new EnvError("the prompt of a test of promptfoo", seen, { expected: `${prompt}, which was answered` });
      if (row.failureReason !== noFailure && row.failureReason !== failedAssertion)
        throw new EnvError("a test of promptfoo", row.error, { expected: "a score" });
      return { reward: row.score, scores: { success: Number(row.success) } };
    },
  };
}

type Suite = Readonly<Record<string, unknown>>;

function understood<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { path, message } = nearestIssue(parsed.error.issues);
  throw new ConfigError(`${where}: ${path.join(".") || "a configuration"}`, message, {
    expected: "a field that can be honoured",
  });
}

async function evaluated(promptfoo: Promptfoo, suite: object, provider: Provider): Promise<z.output<typeof rowSchema>[]> {
  const options = { maxConcurrency: 1, cache: false, showProgressBar: false };
  const record = await promptfoo.evaluate({ ...suite, providers: [provider], writeLatestResults: false }, options);
  return z.array(rowSchema).parse((await record.toEvaluateSummary()).results);
}

/** Kinds of assertions that compare several answers, or measure the provider, which is not there. */
const unscorable = /^(?:not-)?(?:select-best|max-score|latency|cost|perplexity(?:-score)?|trace-.*|trajectory:.*)$/;

function requireScorable(assertions: unknown, where: string): void {
  for (const [i, assertion] of (Array.isArray(assertions) ? assertions : []).entries()) {
    const { type, assert } = assertion as { readonly type?: unknown; readonly assert?: unknown };
    if (unscorable.test(String(type)))
      throw new ConfigError(`${where}: assert.${i}.type`, type, { expected: "one that an answer alone decides" });
    requireScorable(assert, `${where}: assert.${i}`);
  }
}

/** The files of a configuration from its own folder: promptfoo's library looks for them in the current one. */
function absolute(value: unknown, folder: string, key = ""): unknown {
  if (typeof value === "string") {
    const named = /^file:\/\/(?!\/)(.*)/s.exec(value);
    if (named !== null) return `file://${join(folder, present(named[1], "a path"))}`;
    const isPath = (key === "prompts" || key === "tests") && !value.includes("\n") && existsSync(join(folder, value));
    return isPath ? `file://${join(folder, value)}` : value;
  }
  if (Array.isArray(value)) return value.map((each) => absolute(each, folder, key));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, absolute(inner, folder, name)]));
}

const messagesSchema = z.array(z.looseObject({ role: z.string(), content: z.unknown() })).min(1);

/** A prompt that is a list of messages in JSON, as promptfoo's providers take it, or else the user's words. */
function messagesOf(prompt: string): readonly object[] {
  return messagesSchema.safeParse(jsonOf(prompt)).data ?? [{ role: "user", content: prompt }];
}

async function configOf(path: string, require: NodeJS.Require): Promise<unknown> {
  if (!/\.(?:ya?ml|json)$/.test(path)) return loadModule(path);
  requireFile(path, largestFile);
  const text = readFileSync(path, "utf8");
  if (path.endsWith(".json")) return JSON.parse(text);
  // promptfoo reads YAML by this package.
  const yaml = (await import(pathToFileURL(createRequire(resolved(require)).resolve("js-yaml")).href)) as {
    readonly load: (text: string) => unknown;
  };
  return yaml.load(text);
}

async function installed(require: NodeJS.Require): Promise<Promptfoo> {
  // It reads this when it is loaded, and would write lines for each answer that is scored.
  const { LOG_LEVEL: level } = process.env;
  process.env.LOG_LEVEL = level ?? "warn";
  try {
    return (await import(pathToFileURL(resolved(require)).href)) as Promptfoo;
  } finally {
    if (level === undefined) delete process.env.LOG_LEVEL;
  }
}

function resolved(require: NodeJS.Require): string {
  try {
    return require.resolve("promptfoo");
  } catch (cause) {
    throw new ConfigError("the package promptfoo", "not installed", {
      expected: "it beside the configuration: its assertions are the reward",
      hint: "npm install promptfoo --ignore-scripts",
      cause,
    });
  }
}
