import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { TaskRequest } from "../../src/environments/define.ts";
import { evaluateAgent } from "../../src/sdk/evaluate-agent.ts";
import type { Evals } from "./evals.ts";
import { fromPromptfoo } from "./promptfoo.ts";
import { type EvaliteScorer, fromEvalite, fromMastra } from "./scorers.ts";

/** The published packages' own scorers and assertions as rewards. `.ci/eval-sdks` installs them. */
const sdks = process.env.RETROGRADE_EVAL_SDKS;
const load = (name: string) =>
  import(/* @vite-ignore */ pathToFileURL(createRequire(join(sdks ?? "", "here.js")).resolve(name)).href);

/** Measures with answers instead of a model. */
async function rewards<T extends TaskRequest>(evals: Evals<T>, answers: Readonly<Record<string, string>>): Promise<number[]> {
  const { tasks } = await evaluateAgent({ ...evals, agent: async (prompt: string) => answers[prompt] });
  expect(tasks.flatMap(({ errors }) => errors.filter((error) => error !== undefined))).toEqual([]);
  return tasks.flatMap((task) => task.rewards.filter((reward) => reward !== undefined));
}

describe.skipIf(sdks === undefined)("evaluations of published packages (RETROGRADE_EVAL_SDKS)", { timeout: 120_000 }, () => {
  test("promptfoo: its own assertions decide, in YAML with default tests, weights and negations", async () => {
    const folder = mkdtempSync(join(sdks ?? "", "promptfoo-"));
    const file = join(folder, "promptfooconfig.yaml");
    writeFileSync(
      file,
      `prompts: ["Capital of {{ country }}?"]
providers: [openai:gpt-5-mini]
defaultTest: { assert: [{ type: not-contains, value: sorry }] }
tests:
  - vars: { country: France }
    assert: [{ type: icontains, value: paris }, { type: regex, value: "^[A-Z]" }, { type: javascript, value: "output.length < 10" }]
  - vars: { country: Spain }
    assert: [{ type: equals, value: Madrid, weight: 3 }, { type: levenshtein, threshold: 3, value: Madrid }]
  - vars: { country: Italy }
    assert: [{ type: is-json }]
`,
    );
    const evals = await fromPromptfoo(file);
    expect(evals.tasks.map(({ prompt }) => prompt)).toEqual(["Capital of France?", "Capital of Spain?", "Capital of Italy?"]);
    const asked = { "Capital of France?": "Paris", "Capital of Spain?": "Madird", "Capital of Italy?": "sorry" };
    const [france, spain, italy] = await rewards(evals, asked);
    expect(france).toBe(1);
    expect(spain).toBeGreaterThan(0.2);
    expect(spain).toBeLessThan(0.9);
    expect(italy).toBe(0);
  });

  test("evalite and autoevals: data as a function, createScorer and a scorer that is an object", async () => {
    // Its entry needs its own runner.
    const { createScorer } = await import(
      /* @vite-ignore */ pathToFileURL(join(sdks ?? "", "node_modules/evalite/dist/create-scorer.js")).href
    );
    const { Levenshtein } = (await load("autoevals")) as { Levenshtein: EvaliteScorer };
    const exact: EvaliteScorer = createScorer({
      name: "exact",
      scorer: ({ output, expected }: { output: string; expected: string }) => Number(output === expected),
    });
    const evals = await fromEvalite<unknown, string>({
      data: async () => [
        { input: "2 + 2?", expected: "4" },
        { input: { sum: [1, 2] }, expected: "3" },
      ],
      task: async () => "",
      scorers: [exact, Levenshtein, { name: "short", scorer: ({ output }: { output: string }) => Number(output.length < 3) }],
    });
    const [right, wrong] = await rewards(evals, { "2 + 2?": "4", '{"sum":[1,2]}': "three" });
    expect(right).toBe(1);
    expect(wrong).toBe(0);
  });

  test("Mastra: scorers of createScorer with the ground truth", async () => {
    const { createScorer } = await load("@mastra/core/evals");
    const scorer = createScorer({ id: "has", description: "Has the truth." }).generateScore(
      ({ run }: { run: { output: string; groundTruth: string } }) => Number(run.output.includes(run.groundTruth)),
    );
    const evals = fromMastra({
      data: [
        { input: "2 + 2?", groundTruth: "4" },
        { input: "3 + 3?", groundTruth: "6" },
      ],
      scorers: [scorer],
      target: async () => "",
    });
    expect(await rewards(evals, { "2 + 2?": "It is 4.", "3 + 3?": "It is 5." })).toEqual([1, 0]);
  });
});
