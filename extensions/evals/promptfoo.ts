import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { ConfigError } from "../../src/core/errors.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { requireFile } from "../../src/files/bounded.ts";
import { loadModule } from "../../src/training/config-file.ts";
import { answerTo, type Evals, textOf } from "./evals.ts";

const assertionSchema = z.looseObject({ type: z.string() });
const testSchema = z.looseObject({
  vars: z.record(z.string(), z.unknown()).default({}),
  assert: z.array(assertionSchema).default([]),
  threshold: z.number().optional(),
});
const configSchema = z.looseObject({
  prompts: z.array(z.string()).min(1),
  tests: z.array(testSchema).min(1),
  defaultTest: testSchema.partial().optional(),
});

/** A test of promptfoo with one of its prompts. */
export interface PromptfooTask extends TaskRequest {
  readonly vars: Readonly<Record<string, unknown>>;
  readonly assert: readonly z.output<typeof assertionSchema>[];
  readonly threshold?: number;
}

const resultSchema = z.looseObject({ pass: z.boolean(), score: z.number() });
interface Promptfoo {
  readonly assertions: { runAssertions(asked: object): Promise<unknown> };
}

const largestFile = 64 * 2 ** 20;

/**
 * Reads a configuration of promptfoo: its tests are tasks, and its own assertions give the reward, by the promptfoo that is installed beside
 * the file. The agent answers one prompt.
 * @param file YAML, JSON or a module; prompts and tests are in it, not in other files
 * @throws ConfigError naming what cannot be used
 * @example
 * await trainAgent({ ...(await fromPromptfoo("promptfooconfig.yaml")), agent: "./agent.ts", model: "Qwen/Qwen3-0.6B" });
 */
export async function fromPromptfoo(file: string): Promise<Evals<PromptfooTask>> {
  const path = resolve(file);
  const require = createRequire(join(dirname(path), "here.js"));
  const read = configSchema.safeParse(await configOf(path, require));
  if (!read.success) throw new ConfigError(file, "a configuration", { expected: z.prettifyError(read.error) });
  const { prompts, tests, defaultTest } = read.data;
  const { assertions } = await installed(require);
  return {
    tasks: prompts.flatMap((prompt) =>
      tests.map(({ vars: own, assert, threshold = defaultTest?.threshold }) => {
        const vars = { ...defaultTest?.vars, ...own };
        const asserted = [...(defaultTest?.assert ?? []), ...assert];
        return { prompt: filled(prompt, vars), vars, assert: asserted, ...(threshold === undefined ? {} : { threshold }) };
      }),
    ),
    agent: async (prompt, model) => (await answerTo([{ role: "user", content: prompt }], model)).content,
    reward: async ({ task: { prompt, ...test }, answer }) => {
      const result = resultSchema.parse(
        await assertions.runAssertions({ prompt, test, vars: test.vars, providerResponse: { output: textOf(answer) } }),
      );
      return { reward: result.score, scores: { success: Number(result.pass) } };
    },
  };
}

/** Fills the variables of a prompt. @throws ConfigError for other forms of its template language */
function filled(prompt: string, vars: Readonly<Record<string, unknown>>): string {
  if (/^file:\/\/|\{%/.test(prompt))
    throw new ConfigError("prompts", prompt.slice(0, 80), { expected: "a text with variables, such as {{ question }}" });
  return prompt.replace(/\{\{\s*([^}]*?)\s*\}\}/g, (_, name: string) => {
    if (Object.hasOwn(vars, name)) return typeof vars[name] === "string" ? vars[name] : JSON.stringify(vars[name]);
    throw new ConfigError(`{{ ${name} }} of a prompt`, "nothing", { expected: `one of ${Object.keys(vars).join(", ")}` });
  });
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
  return (await import(pathToFileURL(resolved(require)).href)) as Promptfoo;
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
