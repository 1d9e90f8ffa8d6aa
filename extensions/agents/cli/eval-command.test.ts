import "../../../test/loopback.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { ConversationRequest } from "../../../src/chat/conversation.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import type { InferenceModel } from "../../inference/model.ts";
import { serveInference } from "../../inference/server.ts";
import { replyOf } from "../../inference/wires.fixture.ts";
import { evalAgentCommand } from "./eval-agent.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-eval-"));
/** A model that answers a prompt, or fails at it. */
const modelOf = (answer: (prompt: string) => string): InferenceModel => ({
  ...{ maxLength: 100, vocabularySize: 10, sample: () => Promise.reject(new Error("no ids")) },
  chat: {
    ...{ decode: () => "", count: () => 1 },
    converse: async ({ messages }: ConversationRequest) => replyOf({ content: answer(messages[0].content) }),
  },
});
const models = new Map([
  ["right", modelOf((prompt) => prompt)],
  ["half", modelOf((prompt) => (prompt < "c" ? prompt : "no"))],
  [
    "broken",
    modelOf((prompt) => {
      if (prompt === "a") throw new Error("out of memory");
      return prompt;
    }),
  ],
]);
const server = await serveInference({ host: "127.0.0.1", port: 0, keys: [], models });
afterAll(async () => {
  await server.close();
  rmSync(root, { recursive: true });
});
const file = (name: string, text: string) => {
  writeFileSync(join(root, name), text);
  return join(root, name);
};
const prompts = ["a", "b", "c", "d", "e"];
const given = {
  tasks: file("tasks.jsonl", prompts.map((prompt) => `${JSON.stringify({ prompt })}\n`).join("")),
  reward: file("reward.mjs", "export default ({ task, answer }) => Number(answer === task.prompt);\n"),
};
const asks = file(
  "asks.mjs",
  `export default async (prompt, { baseUrl, apiKey, name }) => {
    const headers = { authorization: "Bearer " + apiKey };
    const body = JSON.stringify({ model: name, messages: [{ role: "user", content: prompt }] });
    const response = await fetch(baseUrl + "/chat/completions", { method: "POST", headers, body });
    if (!response.ok) throw Object.assign(new Error(await response.text()), { status: response.status });
    return JSON.parse(await response.text()).choices[0].message.content;
  };`,
);
const own = file(
  "own.mjs",
  "export default async (prompt) => { if (prompt === 'd') throw new Error('lost'); return prompt === 'c' ? 'no' : prompt; };",
);
const at = (name: string) => `${name}@${server.baseUrl}/v1`;

async function evaluated(agent: string, flags: object) {
  const text = { output: "", notes: "" };
  const [output, notes] = (["output", "notes"] as const).map((to) =>
    createScreen({ write: (part: string) => (text[to] += part), columns: 200 }),
  );
  const isJson = (flags as { json?: boolean }).json === true;
  const code = await evalAgentCommand(agent, { ...given, ...flags } as never, output, isJson ? notes : output);
  return { code, lines: text.output.trimEnd().split("\n"), notes: text.notes, output: text.output };
}

test("an agent with its own model is measured, an episode that failed is shown, and where all of them are", async () => {
  const out = join(root, "own-out");
  const { code, lines } = await evaluated(own, { split: "all", out });
  expect([code, ...lines]).toEqual([
    ...[0, `${own} with its own model: 5 tasks`],
    expect.stringMatching(/^ {3}success 60\.0 % {2}\[\d+\.\d, \d+\.\d\], reward 0\.600 {2}\[\S+, \S+\]$/),
    "   1 attempt failed by an error of the agent (reward 0), the first: lost",
    ...["", "An episode that it fails (after-all-0/2/0)", "user       c", "assistant  no", "reward 0, 0 turns, ended: done"],
    ...["", `Every episode: ${out} (runs show, dashboard)`],
    `Read one: npx retrograde-rl trajectory ${out} after-all-0/0/0`,
  ]);
  await expect(evaluated(own, { split: "all", out })).rejects.toThrow("a run already");
});

test("a fifth of the tasks is measured unless another part is asked for", async () => {
  const count = async (split?: string) => (await evaluated(own, { split, out: join(root, `part-${split}`) })).lines[0];
  expect(await count()).toBe(`${own} with its own model: 1 task`);
  expect(await count("train")).toBe(`${own} with its own model: 4 tasks`);
});

test("a model of an endpoint by its two flags or in one, with several attempts each", async () => {
  const flags = { split: "all", k: "2", model: "right", endpoint: `${server.baseUrl}/v1`, out: join(root, "right") };
  const { lines } = await evaluated(asks, flags);
  expect(lines.slice(0, 3)).toEqual([
    `${asks} with ${at("right")}: 5 tasks`,
    expect.stringMatching(/^ {3}success 100\.0 % /),
    "   all 2 attempts at a task succeed: 100.0 % (pass^2)",
  ]);
});

test("two models are compared task by task", async () => {
  const out = join(root, "compared");
  const { code, lines } = await evaluated(asks, { split: "all", compare: [at("half"), at("right")], out });
  const [a, b] = [join(out, "a"), join(out, "b")];
  expect(code).toBe(0);
  expect(lines.slice(0, 7)).toEqual([
    `A  ${asks} with ${at("half")}: 5 tasks`,
    expect.stringMatching(/^ {3}success 40\.0 % /),
    `B  ${asks} with ${at("right")}: 5 tasks`,
    expect.stringMatching(/^ {3}success 100\.0 % /),
    "B − A, on the same tasks",
    // Three of three tasks better: 2 x 0.5^3.
    expect.stringMatching(/^ {3}reward \+60\.0 points {2}\[\S+, \S+\], p = 0\.25$/),
    expect.stringMatching(/^ {3}3 tasks better, 0 worse of 5; \d+\.\d points would have been seen$|too few tasks/),
  ]);
  expect(lines.slice(-4)).toEqual([
    "",
    `Every episode: ${a} and ${b} (runs show, dashboard)`,
    `Read one: npx retrograde-rl trajectory ${b} after-all-0/0/0`,
    `Compare: npx retrograde-rl runs compare ${a} ${b}`,
  ]);
  const json = await evaluated(asks, { split: "all", compare: [at("half"), at("right")], out: join(root, "json"), json: true });
  const record = JSON.parse(json.output);
  expect(Object.keys(record)).toEqual(["agent", "split", "models", "folders", "measured", "difference"]);
  expect(record).toMatchObject({ agent: asks, split: "all", models: [at("half"), at("right")], difference: { better: 3 } });
  expect(record.measured[0]).not.toHaveProperty("episodes");
  expect(json.notes).toContain("B − A, on the same tasks");
});

test("where errors are not rare there is no verdict, and the code says so", async () => {
  const flags = { split: "all", compare: [at("broken"), at("right")], out: join(root, "withheld") };
  const { code, lines } = await evaluated(asks, flags);
  const withheld = "no verdict: 1 of 5 attempts of A ended by an error, more than a tenth";
  expect([code, lines[2]]).toEqual([
    1,
    expect.stringMatching(/^ {3}1 of 5 attempts ended by an error and are not counted: the server at /),
  ]);
  expect(lines).toContain(`B − A: ${withheld}`);
  expect(lines).not.toContain("B − A, on the same tasks");
  const json = await evaluated(asks, { ...flags, out: join(root, "withheld-json"), json: true });
  expect([json.code, JSON.parse(json.output).withheld]).toEqual([1, withheld]);
});

test.each([
  [{ split: "some" }, /^--split is "some"; expected "test", "train" or "all"/],
  [{ compare: ["a"] }, /^--compare is \["a"\]; expected two models/],
  [{ endpoint: "http://127.0.0.1:1/v1" }, /^--model is "none"; expected the name of a model at http:\/\/127/],
  [{ k: "0.5" }, /^--k is/],
  [{ tasks: undefined }, /^--tasks is "none"/],
  [{ reward: undefined }, /^--reward is/],
])("%j is refused", async (flags, message) => {
  await expect(evaluated(own, { out: join(root, "refused"), ...flags })).rejects.toThrow(message);
});
