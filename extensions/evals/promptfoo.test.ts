import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import "../../test/loopback.ts";
import { ConfigError, EnvError } from "../../src/core/errors.ts";
import { fromPromptfoo } from "./promptfoo.ts";

/**
 * A package that does what promptfoo does of this: each test with each prompt, variables in double braces, and the assertion `equals`. It tells
 * what it was asked by globalThis.asked.
 */
const promptfoo = `
const fill = (text, vars = {}) => text.replace(/{{(\\w+)}}/g, (_, name) => vars[name]);
exports.level = process.env.LOG_LEVEL;
exports.evaluate = async (suite, options) => {
  const { providers: [provider], ...rest } = suite;
  globalThis.asked.push({ suite: rest, options, level: exports.level });
  if (suite.prompts === "broken") throw new Error("cannot expand");
  const results = [];
  for (const testCase of suite.tests ?? [])
    for (const raw of suite.prompts) {
      const prompt = fill(raw, testCase.vars);
      if (testCase.vars?.skipped) { results.push({ success: false, score: 0, error: "skipped", failureReason: 2, testCase }); continue; }
      const { output, error } = await provider(globalThis.other ?? prompt, { prompt: testCase.vars?.raw ? { raw } : { raw: prompt, template: raw } });
      const wrong = (testCase.assert ?? []).filter(({ type, value }) => type === "equals" && value !== output).length;
      if (testCase.vars?.fails) throw new Error("cannot score");
      const failureReason = error || testCase.vars?.strange ? 2 : wrong > 0 ? 1 : 0;
      results.push({ success: failureReason === 0, score: failureReason === 0 ? 1 : 0.25, error: error ?? "strange", failureReason, testCase });
    }
  return { toEvaluateSummary: async () => ({ results }) };
};`;

declare global {
  var asked: { readonly suite: object; readonly options: object; readonly level: unknown }[];
  var other: string | undefined;
}

let folder: string;
beforeEach(() => {
  globalThis.asked = [];
  folder = mkdtempSync(join(tmpdir(), "promptfoo-"));
  install("promptfoo", promptfoo);
  install("promptfoo/node_modules/js-yaml", 'exports.load = (text) => JSON.parse(text.replace("yaml ", ""));');
});
afterEach(() => {
  vi.unstubAllEnvs();
  globalThis.other = undefined;
});

function install(name: string, source: string): void {
  const at = join(folder, "node_modules", name);
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, "package.json"), JSON.stringify({ name, main: "index.js" }));
  writeFileSync(join(at, "index.js"), source);
}

function fileOf(config: object, name = "config.json"): string {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(config));
  return file;
}
const configured = (config: object) => fromPromptfoo(fileOf(config));

const capital = { vars: { land: "France" }, assert: [{ type: "equals", value: "Paris" }] };
const simple = { prompts: ["Capital of {{land}}?"], tests: [capital] };

test("rows of the expansion are tasks, and an answer has the score that promptfoo gives it", async () => {
  const { tasks, reward } = await configured({
    ...simple,
    prompts: [...simple.prompts, "{{land}}:"],
    ...{ nunjucksFilters: { shout: "x" }, env: { A: "b" }, description: "Lands" },
  });
  expect(tasks).toEqual([
    { prompt: "Capital of France?", template: "Capital of {{land}}?", test: capital },
    { prompt: "France:", template: "{{land}}:", test: capital },
  ]);
  const [task] = tasks;
  if (task === undefined) throw new Error("no task");
  expect(await reward({ task, answer: "Paris" })).toEqual({ reward: 1, scores: { success: 1 } });
  expect(await reward({ task, answer: { text: "Rome" } })).toEqual({ reward: 0.25, scores: { success: 0 } });
  const options = { maxConcurrency: 1, cache: false, showProgressBar: false };
  const shared = { nunjucksFilters: { shout: "x" }, env: { A: "b" }, writeLatestResults: false };
  expect(asked.map((each) => ({ ...each, level: undefined }))).toEqual([
    { suite: { ...simple, prompts: [...simple.prompts, "{{land}}:"], ...shared, description: "Lands" }, options },
    ...[1, 2].map(() => ({ suite: { prompts: ["Capital of {{land}}?"], tests: [capital], ...shared }, options })),
  ]);
});

test("where the prompt has no template, its text is one", async () => {
  const { tasks } = await configured({ prompts: ["{{raw}}"], tests: [{ vars: { raw: "a" } }] });
  expect(tasks).toEqual([{ prompt: "a", template: "{{raw}}", test: { vars: { raw: "a" } } }]);
});

test("the agent asks the prompt as the user's words, and a list of messages as messages", async () => {
  const bodies: unknown[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    bodies.push([request.headers.authorization, JSON.parse(body)]);
    const message = { role: "assistant", content: "Paris" };
    response.end(JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { agent } = await configured(simple);
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const run = { baseUrl, apiKey: "k", name: "m", signal: AbortSignal.timeout(10_000) } as unknown as Parameters<typeof agent>[1];
  const messages = [{ role: "system", content: "Be brief." }];
  for (const prompt of ["Hi?", JSON.stringify(messages), "[]", "[1]"]) expect(await agent(prompt, run)).toBe("Paris");
  const user = (content: string) => ({ model: "m", messages: [{ role: "user", content }] });
  expect(bodies).toEqual(
    [user("Hi?"), { model: "m", messages }, user("[]"), user("[1]")].map((body) => ["Bearer k", expect.objectContaining(body)]),
  );
  server.close();
});

test("files are found from the configuration's own folder; providers and outputs are not passed on", async () => {
  writeFileSync(join(folder, "more.txt"), "");
  const file = fileOf({
    prompts: ["more.txt", "no.txt", "line\nmore.txt"],
    tests: [{ vars: { a: "file://note.txt", b: "file:///else.txt", c: "more.txt", d: [1, null, "file://e"] } }],
    ...{ providers: ["echo"], targets: "echo", sharing: true, outputPath: "out.json" },
  });
  await fromPromptfoo(file);
  expect(asked[0]?.suite).toEqual({
    prompts: [`file://${join(folder, "more.txt")}`, "no.txt", "line\nmore.txt"],
    tests: [
      {
        vars: {
          ...{ a: `file://${join(folder, "note.txt")}`, b: "file:///else.txt", c: "more.txt" },
          d: [1, null, `file://${join(folder, "e")}`],
        },
      },
    ],
    writeLatestResults: false,
  });
});

test("a configuration is JSON, YAML by promptfoo's own reader, or a module", async () => {
  for (const name of ["a.yaml", "b.yml"]) {
    writeFileSync(join(folder, name), `yaml ${JSON.stringify(simple)}`);
    expect((await fromPromptfoo(join(folder, name))).tasks).toHaveLength(1);
  }
  writeFileSync(join(folder, "c.mjs"), `export default ${JSON.stringify(simple)};`);
  expect((await fromPromptfoo(join(folder, "c.mjs"))).tasks).toHaveLength(1);
});

test.each([
  [undefined, "warn"],
  ["debug", "debug"],
])("promptfoo is loaded with the log level %j as %j, which is put back", async (given, level) => {
  vi.stubEnv("LOG_LEVEL", given);
  await configured(simple);
  expect(asked[0]?.level).toBe(level);
  expect(process.env.LOG_LEVEL).toBe(given);
});

test("without promptfoo the error says what to install", async () => {
  const empty = mkdtempSync(join(tmpdir(), "promptfoo-"));
  const file = join(empty, "config.json");
  writeFileSync(file, JSON.stringify(simple));
  await expect(fromPromptfoo(file)).rejects.toMatchObject({
    ...{ subject: "the package promptfoo", value: "not installed" },
    hint: "npm install promptfoo --ignore-scripts",
  });
});

const testWith = (more: object) => ({ ...simple, tests: [{ ...capital, ...more }] });
const at = "config.json: test 1 of the expansion";
test.each<[string, object, Partial<ConfigError>]>([
  ["no tests", { prompts: ["a"] }, { value: "no tests", expected: "at least one test" }],
  ["no prompts", { tests: [] }, { subject: "config.json: prompts" }],
  ["what cannot be expanded", { prompts: "broken" }, { value: "cannot expand" }],
  [
    "a row without a prompt",
    { ...simple, tests: [capital, { vars: { skipped: "yes" } }] },
    { subject: at, value: "not asked yet", expected: "a prompt" },
  ],
  ["a test's provider", testWith({ provider: "openai:m" }), { subject: "config.json: tests.0.provider" }],
  ["a red team", { ...simple, redteam: {} }, { subject: "config.json: redteam" }],
  [
    "a provider's tools",
    { ...simple, providers: [{ id: "a", config: { tools: [] } }] },
    { subject: "config.json: providers.0.config.tools" },
  ],
  ["tests in series", testWith({ options: { runSerially: true } }), { subject: "config.json: tests.0.options.runSerially" }],
  [
    "the conversation of other tests",
    { ...simple, prompts: ["{{land}} {{_conversation}}"] },
    { subject: `${at}: _conversation`, value: "used", expected: "a prompt without answers to other tests" },
  ],
  ...["select-best", "max-score", "not-latency", "cost", "perplexity", "perplexity-score", "trace-span", "trajectory:goal"].map(
    (type): [string, object, Partial<ConfigError>] => [
      `the assertion ${type}`,
      testWith({ assert: [{ type: "equals", value: "a" }, { type }] }),
      { subject: `${at}: assert.1.type`, value: type, expected: "one that an answer alone decides" },
    ],
  ),
  [
    "an assertion in a set",
    testWith({ assert: [{ type: "assert-set", assert: [{ type: "cost" }] }] }),
    { subject: `${at}: assert.0: assert.0.type`, value: "cost" },
  ],
])("%s is refused by name", async (_, config, { subject, ...error }) => {
  const refused = configured(config);
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toMatchObject({
    ...error,
    ...(subject && { subject: expect.stringMatching(new RegExp(`${subject}$`)) }),
  });
});

test("settings that ask for nothing, or are the run's own, are taken", async () => {
  const provider = { id: "openai:m", label: "M", config: { temperature: 0, apiKey: "k" } };
  const options = { runSerially: false, disableConversationVar: true, disableDefaultAsserts: true, transform: "output" };
  const { tasks } = await configured({
    ...{ ...testWith({ description: "d", options, assert: [{ type: "latency-like" }] }), providers: [provider], tags: {} },
    ...{ targets: "a", scenarios: [], defaultTest: "file://default.json", evaluateOptions: {} },
  });
  expect(tasks).toHaveLength(1);
});

test("what is not scored is an error, and no score of 0", async () => {
  const { tasks, reward } = await configured({ ...simple, tests: [capital, { vars: { fails: "" } }] });
  const [task] = tasks;
  if (task === undefined) throw new Error("no task");
  const score = (vars: object) =>
    reward({ task: { ...task, test: { ...task.test, vars: { ...capital.vars, ...vars } } }, answer: "Paris" });
  await expect(score({ fails: "yes" })).rejects.toThrow(EnvError);
  await expect(score({ fails: "yes" })).rejects.toMatchObject({ value: "cannot score", expected: "a score" });
  await expect(score({ strange: "yes" })).rejects.toMatchObject({ subject: "a test of promptfoo", value: "strange" });
  await expect(score({ land: "Spain" })).rejects.toMatchObject({
    ...{ subject: "the prompt of a test of promptfoo", value: "Capital of Spain?" },
    expected: "Capital of France?, which was answered",
  });
  await expect(reward({ task: { ...task, template: "" }, answer: "" })).rejects.toThrow(EnvError);
});
