import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { TaskRequest } from "../../src/environments/define.ts";
import { evaluateAgent } from "../agents/evaluate-agent.ts";
import type { Evals } from "./evals.ts";
import { fromPromptfoo, type PromptfooTask } from "./promptfoo.ts";
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

describe.skipIf(sdks === undefined)("evaluations of published packages (RETROGRADE_EVAL_SDKS)", () => {
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

  const configured = (config: object, files: Readonly<Record<string, string>> = {}) => {
    const folder = mkdtempSync(join(sdks ?? "", "promptfoo-"));
    const file = join(folder, "promptfooconfig.json");
    for (const [name, text] of Object.entries({ ...files, "promptfooconfig.json": JSON.stringify(config) }))
      writeFileSync(join(folder, name), text);
    return fromPromptfoo(file);
  };
  /** Scores of answers that repeat their prompts, as promptfoo's echo provider gives them. */
  const echoed = async ({ tasks, reward }: Evals<PromptfooTask>) =>
    Promise.all(
      tasks.map(async (task) => {
        const given = await reward({ task, answer: task.prompt });
        return [task.prompt, typeof given === "number" ? given : given.reward] as const;
      }),
    );
  const contains = (value: string) => [{ type: "contains", value }];

  test("promptfoo: lists, files, variables in variables, transforms, prefixes and templates are as promptfoo has them", async () => {
    const rows = await configured(
      {
        prompts: ["{% if polite %}Please: {% endif %}{{word}} in {{language}}.", "file://more.txt"],
        providers: ["echo"],
        defaultTest: { vars: { language: "Dutch" }, assert: [{ type: "not-contains", value: "zzz" }] },
        tests: [
          { vars: { word: "tea", language: ["French", "German"] }, assert: contains("{{language}}") },
          { vars: { word: "file://note.txt" }, assert: contains("Paris") },
          { vars: { word: "{{greeting}} you", greeting: "hello", polite: true }, assert: contains("hello you") },
          { vars: { word: "x" }, options: { transform: "output.toUpperCase()" }, assert: contains("DUTCH") },
          {
            vars: { word: "y" },
            options: { prefix: "Say: ", suffix: " Now." },
            assert: [{ type: "starts-with", value: "Say:" }],
          },
          "file://tests.csv",
        ],
      },
      { "note.txt": "Paris", "more.txt": "Say {{word}} in {{language}}!", "tests.csv": "word,__expected\nmilk,contains:milk\n" },
    );
    const shown = await echoed(rows);
    expect(shown.map(([prompt]) => prompt).filter((prompt) => !prompt.includes("!"))).toEqual([
      ...["tea in French.", "tea in German.", "Paris in Dutch.", "Please: hello you in Dutch.", "x in Dutch."],
      ...["Say: y in Dutch. Now.", "milk in Dutch."],
    ]);
    expect(shown).toHaveLength(14);
    // The second prompt has its prefix behind no "Say:" of its own.
    expect(shown.filter(([, score]) => score !== 1)).toEqual([]);
  });

  test("promptfoo: a prompt of messages is asked as messages", async () => {
    const messages = [
      { role: "system", content: "Answer briefly." },
      { role: "user", content: "Capital of {{land}}?" },
    ];
    const asked: unknown[] = [];
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const part of request) body += part;
      asked.push(JSON.parse(body).messages);
      const message = { role: "assistant", content: "Paris" };
      response.end(
        JSON.stringify({ choices: [{ message, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1 } }),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const { agent, tasks } = await configured({
        prompts: [JSON.stringify(messages)],
        tests: [{ vars: { land: "France" }, assert: contains("Paris") }],
      });
      const run = { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "none", name: "m", signal: AbortSignal.timeout(10_000) };
      expect(await agent(tasks[0]?.prompt ?? "", run as Parameters<typeof agent>[1])).toBe("Paris");
      expect(asked).toEqual([[messages[0], { role: "user", content: "Capital of France?" }]]);
    } finally {
      server.close();
    }
  });

  const one = { prompts: ["Hi {{a}}"], tests: [{ vars: { a: "b" } }] };
  const testWith = (more: object) => ({ ...one, tests: [{ vars: { a: "b" }, ...more }] });
  test.each([
    ["a test's own provider", testWith({ provider: "openai:gpt-5-mini" }), "provider"],
    ["a canned output", testWith({ providerOutput: "b" }), "providerOutput"],
    ["an output that another test reads", testWith({ options: { storeOutputAs: "c" } }), "storeOutputAs"],
    ["settings of a test's provider", testWith({ options: { response_format: { type: "json_object" } } }), "response_format"],
    ["a comparison of providers", testWith({ assert: [{ type: "select-best", value: "a" }] }), "select-best"],
    [
      "a measure of the provider",
      testWith({ assert: [{ type: "assert-set", assert: [{ type: "latency", threshold: 1 }] }] }),
      "assert.0: assert.0.type",
    ],
    ["a provider's tools", { ...one, providers: [{ id: "openai:m", config: { tools: [] } }] }, "providers.0.config.tools"],
    ["a provider's transform", { ...one, providers: [{ id: "openai:m", transform: "output" }] }, "providers.0.transform"],
    ["a provider's prompts", { ...one, targets: [{ id: "openai:m", prompts: ["a"] }] }, "targets.0.prompts"],
    ["hooks", { ...one, extensions: ["file://hook.js:f"] }, "extensions"],
    ["a red team", { ...one, redteam: { plugins: [] } }, "redteam"],
    ["the conversation of other tests", { ...one, prompts: ["{{a}} {{_conversation}}"] }, "_conversation"],
    ["a misspelt field", { ...one, defaultTests: {} }, "defaultTests"],
  ])("promptfoo: %s is refused by name", async (_, config, named) => {
    await expect(configured(config)).rejects.toThrow(named);
  });

  test("promptfoo: an assertion that cannot be made is an error and no score", async () => {
    const { tasks, reward } = await configured(testWith({ assert: [{ type: "contains", value: "file://missing.txt" }] }));
    await expect(reward({ task: tasks[0] as PromptfooTask, answer: "b" })).rejects.toThrow("a test of promptfoo");
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
