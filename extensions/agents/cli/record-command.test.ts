import "../../../test/loopback.ts";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import { askingAgent } from "./asking-agent.fixture.ts";
import { recordCommand } from "./record.ts";

// Names of new runs are sought below the current folder.
const here = process.cwd();
const root = mkdtempSync(join(tmpdir(), "retrograde-record-"));
beforeAll(() => process.chdir(root));
afterAll(() => {
  process.chdir(here);
  rmSync(root, { recursive: true });
});
const file = (name: string, text: string) => {
  writeFileSync(join(root, name), text);
  return join(root, name);
};
const asks = file("agent.mjs", askingAgent);
const deaf = file("deaf.mjs", "export default async (prompt) => prompt;");
const prompts = ["a", "b", "c", "d", "e"];
const given = {
  tasks: file("tasks.jsonl", prompts.map((prompt) => `${JSON.stringify({ prompt })}\n`).join("")),
  reward: file("reward.mjs", "export default ({ task, answer }) => (answer === task.prompt ? 1 : 0.5);\n"),
  teacher: file("expert.mjs", "export default ({ messages }) => ({ content: messages[0].content });\n"),
};
async function recorded(agent: string, flags: object) {
  let out = "";
  const screen = createScreen({ write: (part: string) => (out += part), columns: 120 });
  const code = await recordCommand([agent], { ...given, ...flags }, screen);
  return [code, ...out.trimEnd().split("\n")];
}
const files = (agent: string) => ` --tasks ${given.tasks} --reward ${given.reward} -- ${agent}`;

test("a recording leads to sft on its file, then to training of what comes of it", async () => {
  const out = join(root, "demos.jsonl");
  const lines = [
    0,
    `${asks} with ${given.teacher}: 4 tasks (1 are kept for measuring)`,
    "   success 100.0 %  [39.7, 100.0], reward 1.000  [0.398, 1.000]",
    `   kept 4 of 4 attempts (100.0 %), by reward >= 1: 4 conversations in ${out}`,
    "   4 requests, no tokens: it is a script",
    `Next: npx retrograde-rl sft --data ${out} --model smollm2 --out runs/demos-sft-1`,
    `Then: npx retrograde-rl train-agent --model runs/demos-sft-1${files(asks)}`,
    "Other models: docs/which-model.md",
  ];
  expect(await recorded(asks, { out, concurrency: "2", timeout: "5" })).toEqual(lines);
  expect(existsSync(out)).toBe(true);
  mkdirSync(join(root, "runs/demos-sft-1"), { recursive: true });
  const again = await recorded(asks, { out, k: "1" });
  expect(again[3]).toBe("   4 attempts had been played already");
  expect(again[6]).toBe(`Next: npx retrograde-rl sft --data ${out} --model smollm2 --out runs/demos-sft-2`);
});

test("where nothing is kept the attempts say why, and where nothing was asked check does", async () => {
  const out = join(root, "none.jsonl");
  const strict = await recorded(asks, { out, keep: "reward > 1" });
  expect([strict[0], strict.at(-1)]).toEqual([
    1,
    expect.stringMatching(
      /^Next: read the attempts in \S*none\.attempts\.jsonl: they say what the teacher did\. A lower --keep costs nothing/,
    ),
  ]);
  expect(existsSync(out)).toBe(false);
  await expect(recorded(deaf, { out: join(root, "deaf.jsonl") })).rejects.toThrow(/the agent asked the teacher nothing/);
});

test.each([
  [{ k: "x" }, /^--k is/],
  [{ concurrency: "0.5" }, /^--concurrency is/],
  [{ timeout: "x" }, /^--timeout is/],
  [{ prices: "x" }, /^--prices is/],
  [{ teacher: undefined }, /^--teacher is/],
  [{ keep: "all" }, /^keep is "all"; expected a rule such as "reward >= 1"/],
])("%j is refused", async (flags, message) => {
  await expect(recorded(asks, { out: join(root, "refused.jsonl"), ...flags })).rejects.toThrow(message);
});
