import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Outcome } from "../../src/core/outcome.ts";
import { readEpisodes, readEvaluations, readRun, readSummary } from "../../src/runs/read.ts";
import { trajectoryOf } from "../../src/runs/store.fixture.ts";
import { openAgentRun } from "./agent-run.ts";
import { measure } from "./measure.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-agent-run-"));
afterAll(() => rmSync(root, { recursive: true }));
const rewards = [
  [0, 0.5],
  [1, 1],
];
const outcomeOf = (reward: number): Outcome => ({ kind: "score", reward, success: reward === 1 });
const episodes = rewards.flatMap((attempts, i) =>
  attempts.map((reward, j) =>
    trajectoryOf(`after-dev-0/${i}/${j}`, { group: `dev/${i}`, task: `dev/${"ab"[i]}`, kind: undefined, reward }),
  ),
);
const found = async () => ({
  ...(await measure(["a", "b"], async (_, { task, attempt }) => outcomeOf(rewards[task][attempt]), { k: 2, scoredBy: "r" })),
  tasks: [{ prompt: "a" }, { prompt: "b" }].map((task, i) => ({ task, rewards: rewards[i], errors: [], failures: [] })),
  episodes,
});

test("the run of an evaluation has its attempts by task, and nothing trained", async () => {
  const folder = join(root, "whole");
  const run = openAgentRun(folder, { model: "m" });
  run.add({ id: "after-dev-0/0/0", outcome: outcomeOf(0), episode: "e" });
  expect(readdirSync(folder).sort()).toEqual([".attempts.jsonl", ".attempts.jsonl.lock"]);
  const measured = await found();
  run.write(measured, { agent: "agent.ts", model: "m", split: "dev", temperature: 0, seconds: 12.5 });
  run.close();
  const { scoredBy } = measured;
  expect(readRun(folder)).toMatchObject({
    config: {
      ...{ seed: 1, steps: 0, algorithm: { kind: "evaluation" }, environment: { name: "agent", settings: {} } },
      ...{ agent: "agent.ts", model: "m", evaluation: { split: "dev", tasks: 2, k: 2 }, scoredBy },
    },
  });
  const [record, ...more] = readEvaluations(folder);
  expect(more).toEqual([]);
  // None of the attempts at the first task succeeds, both at the second.
  expect(record).toMatchObject({
    ...{ when: "after", step: 0, split: "dev", decoding: "greedy", temperature: 0, madeOf: scoredBy, tasks: 2, k: 2 },
    ...{ mean: 0.5, reward: { mean: 0.625 } },
    passAll: [
      { k: 1, mean: 0.5 },
      { k: 2, mean: 0.5 },
    ],
  });
  expect(readEpisodes(folder, record).map(({ id, reward }) => [id, reward])).toEqual([
    ["after-dev-0/0/0", 0],
    ["after-dev-0/0/1", 0.5],
    ["after-dev-0/1/0", 1],
    ["after-dev-0/1/1", 1],
  ]);
  expect(readSummary(folder)).toMatchObject({
    // An episode calls one tool and samples five tokens.
    ...{ before: null, steps: 0, episodes: 4, toolCalls: 4, sampledTokens: 20, wallSeconds: 12.5 },
    ...{ after: { mean: 0.5 }, peakRssMb: expect.any(Number) },
  });
  expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  expect(() => openAgentRun(folder, {})).toThrow("a run already");
});

test("what the agent chose by itself is sampled, and by its own model", async () => {
  const folder = join(root, "own");
  const run = openAgentRun(folder, {});
  run.add({ id: "x", outcome: outcomeOf(0), episode: "e" });
  run.write(await found(), { agent: "a function", split: "dev", seconds: 1 });
  run.close();
  expect(readRun(folder).config).toMatchObject({ model: "the agent's own" });
  expect(readEvaluations(folder)).toMatchObject([{ decoding: "sampled", temperature: 1 }]);
});

test("a folder in which nothing was played is none, and one with attempts stays", () => {
  const [empty, begun] = [join(root, "empty"), join(root, "begun")];
  mkdirSync(begun);
  openAgentRun(empty, {}).close();
  const run = openAgentRun(begun, {});
  run.add({ id: "x", outcome: outcomeOf(1), episode: "e" });
  run.close();
  expect([existsSync(empty), readdirSync(begun)]).toEqual([false, [".attempts.jsonl"]]);
  const again = openAgentRun(begun, {});
  expect([...again.known.keys()]).toEqual(["x"]);
  again.close();
});
