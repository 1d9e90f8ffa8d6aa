import "../../test/loopback.ts";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Outcome } from "../../src/core/outcome.ts";
import { readEvaluations, readRun, readSummary } from "../../src/runs/read.ts";
import { evaluateAgent, evaluateFollowed, evaluateInTest } from "./evaluate-agent.ts";
import type { AgentEnd } from "./train-agent.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-evaluate-"));
afterAll(() => rmSync(folder, { recursive: true }));
const tasks = [
  { prompt: "a", right: "a!" },
  { prompt: "b", right: "?" },
];
const agent = async (prompt: string) => `${prompt}!`;
const reward = ({ task, answer }: AgentEnd<(typeof tasks)[number]>) => Number(answer === task.right);
const nameOf = (task: object) => `dev/${createHash("sha256").update(JSON.stringify(task)).digest("hex").slice(0, 10)}`;

test("the attempts of an evaluation are in the order of the tasks, each followed as it ends", async () => {
  const heard: Outcome[] = [];
  let attempts = 0;
  // What is asked first ends last.
  const slow = async (prompt: string) => {
    await new Promise((go) => setTimeout(go, 12 - 3 * attempts++));
    return agent(prompt);
  };
  const given = { agent: slow, tasks, reward, k: 2, split: "dev" };
  const { episodes, ...measured } = await evaluateFollowed(given, (outcome) => heard.push(outcome));
  expect(measured).toMatchObject({ k: 2, attempts: 4, errors: 0, resumed: 0, success: { mean: 0.5 }, allSucceed: 0.5 });
  expect(episodes.map(({ id, group, task, reward: given, answer }) => [id, group, task, given, answer])).toEqual([
    ["after-dev-0/0/0", "dev/0", nameOf(tasks[0]), 1, { value: "a!" }],
    ["after-dev-0/0/1", "dev/0", nameOf(tasks[0]), 1, { value: "a!" }],
    ["after-dev-0/1/0", "dev/1", nameOf(tasks[1]), 0, { value: "b!" }],
    ["after-dev-0/1/1", "dev/1", nameOf(tasks[1]), 0, { value: "b!" }],
  ]);
  expect(heard.map((outcome) => (outcome.kind === "score" ? outcome.reward : outcome.error)).sort()).toEqual([0, 0, 1, 1]);
});

test("one that continues is followed for the attempts of before, too, and its run says what was measured", async () => {
  const out = join(folder, "continued");
  const stopped = new AbortController();
  const stopping = async (prompt: string) => {
    if (prompt === "b") stopped.abort(new Error("stopped"));
    return agent(prompt);
  };
  const given = { tasks, reward, concurrency: 1, out, split: "dev" };
  await expect(evaluateInTest({ ...given, agent: stopping, signal: stopped.signal })).rejects.toThrow("stopped");
  await expect(evaluateAgent({ ...given, agent })).rejects.toThrow(/^the SHA-256 of the agent is /);
  const heard: Outcome[] = [];
  const { resumed, episodes } = await evaluateFollowed({ ...given, agent: stopping }, (outcome) => heard.push(outcome));
  expect([resumed, heard.length, episodes.length]).toEqual([1, 2, 2]);
  expect(readRun(out).config).toMatchObject({
    ...{ agent: "a function", model: "the agent's own", evaluation: { split: "dev", tasks: 2, k: 1 } },
  });
  expect(readEvaluations(out)).toMatchObject([{ split: "dev", temperature: 1, decoding: "sampled" }]);
  expect(readSummary(out)?.wallSeconds).toBeLessThan(60);
});

test("the run of a module names it, and the default split is the test split", async () => {
  const module = join(folder, "agent.mjs");
  writeFileSync(module, "export default async (prompt) => prompt + '!';\n");
  const out = join(folder, "module");
  const { episodes } = await evaluateAgent({ agent: module, tasks, reward, out });
  expect(episodes.map(({ id }) => id)).toEqual(["after-test-0/0/0", "after-test-0/1/0"]);
  expect(readRun(out).config).toMatchObject({ agent: module, evaluation: { split: "test" } });
});

test.each([
  [{ engine: { threads: 1 } }, /^engine is \{"threads":1\}; expected none: it is of a `model` of this machine; others sample/],
  [{ temperature: 0 }, /^temperature is 0; expected none/],
  [{ seed: 1 }, /^seed is 1; expected none/],
  [{ retries: 1 }, /^evaluateAgent: retries is 1/],
])("%j is refused without a model of this machine", async (more, message) => {
  await expect(evaluateAgent({ agent, tasks, reward, ...more } as never)).rejects.toThrow(message);
});
