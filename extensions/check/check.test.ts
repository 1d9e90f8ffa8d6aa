import "../install.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../../src/environments/define.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { resolveConfig } from "../../src/training/config.ts";
import { checkEnvironment } from "./check.ts";

const { rollout } = resolveConfig();

test("the office gives nothing away: the expert solves it, and nothing that understands nothing does", async () => {
  const report = await checkEnvironment(createEnvironment("office", {}), { seed: 1, tasks: 240, trainingTasks: 400, rollout });
  expect(report.expert?.mean).toBe(1);
  expect(report.rules.slice(0, 2)).toMatchObject([
    { check_id: "semantic.oracle_max", status: "pass", measured: { oracle_reward: 1 } },
    { check_id: "semantic.floor_gap", status: "pass", remediation: null },
  ]);
  expect(report.policies.length).toBeGreaterThanOrEqual(15);
  expect(report.policies.filter(({ success }) => success.mean > 0.15)).toEqual([]);
  expect(report.behaviours.length).toBeGreaterThanOrEqual(9);
  expect(report.behaviours.filter(({ ceiling }) => ceiling.mean > 0.85)).toEqual([]);
  expect(report.overlap.map(({ shared }) => shared)).toEqual([0, 0, 0]);
  expect(report.unchecked).toEqual(["No model was measured."]);
}, 120_000);

test("the knowledge world gives nothing away either", async () => {
  const environment = createEnvironment("knowledge", {});
  const report = await checkEnvironment(environment, { seed: 1, tasks: 160, trainingTasks: 300, rollout });
  expect(report.expert?.mean).toBe(1);
  expect(report.policies.length).toBeGreaterThanOrEqual(15);
  expect(report.policies.filter(({ success }) => success.mean > 0.15)).toEqual([]);
  expect(report.behaviours.length).toBeGreaterThanOrEqual(7);
  expect(report.behaviours.filter(({ ceiling }) => ceiling.low > 0.85)).toEqual([]);
  expect(report.overlap.map(({ shared }) => shared)).toEqual([0, 0, 0]);
  expect(report.unchecked).toEqual(["No model was measured."]);
}, 120_000);

test("a hole in a world is found: the classic office lets a deed be refused in the same words", async () => {
  const classic = createEnvironment("office-classic", {});
  const { policies } = await checkEnvironment(classic, { seed: 1, tasks: 60, trainingTasks: 50, rollout });
  const apologising = policies.find(({ name }) => name.includes("Done. Sorry"));
  expect(apologising?.success.mean).toBeGreaterThan(0.3);
}, 60_000);

test("an order of tools that always works is found", async () => {
  const environment = defineEnvironment({
    name: "button",
    tasks: (random) => ({ prompt: `Press ${random.pick(["A", "B"])}.` }),
    start: () => {
      const pressed: string[] = [];
      const tool = (name: string) =>
        defineTool({ name, description: "Presses.", parameters: z.object({}), execute: () => pressed.push(name) });
      return { tools: ["unlock", "light", "press"].map(tool), reward: () => (pressed.join() === "unlock,press" ? 1 : 0) };
    },
  });
  const { policies } = await checkEnvironment(environment, { seed: 1, tasks: 10, trainingTasks: 10, rollout });
  expect(policies.at(-1)).toMatchObject({ name: "best of many tool orders: unlock, press", success: { mean: 1 } });
});

test("without expert, splits or tools the report says what it could not check", async () => {
  const environment = defineEnvironment({
    name: "bare",
    tasks: { train: [{ prompt: "Say yes." }, { prompt: "Say no." }] },
    start: ({ prompt }) => ({ tools: [], reward: ({ answer }) => (answer === prompt ? 1 : 0) }),
  });
  const report = await checkEnvironment(environment, { seed: 1, tasks: 5, trainingTasks: 5, rollout });
  expect(report).toMatchObject({ split: "train", tasks: 2, behaviours: [], overlap: [], sizes: { train: 2 } });
  expect(report.policies.find(({ name }) => name === "repeats what the user says")?.success.mean).toBe(1);
  expect(report.rules).toMatchObject([
    { check_id: "semantic.oracle_max", status: "fail", measured: { oracle_reward: null } },
    { check_id: "semantic.floor_gap", status: "pass", measured: { measured_floor: 0 } },
    { check_id: "semantic.canary_floor", status: "fail", evidence: ["repeats what the user says: 1"] },
  ]);
  for (const part of ["no validation split", "no test split", "no challenge split", "no expert", "overlap", "No model"])
    expect(report.unchecked.join(" ")).toContain(part);
});

test("tasks of Math.random and state that episodes share are found, and nothing where there is none", async () => {
  const counting = (draw: () => number, next: () => number) =>
    defineEnvironment({
      name: "counting",
      tasks: () => ({ prompt: `Count from ${draw()}` }),
      start: () => ({
        tools: [
          defineTool({ name: "count", description: "Counts on.", parameters: z.object({}), execute: () => ({ n: next() }) }),
        ],
        reward: () => 0,
      }),
    });
  const options = { seed: 1, tasks: 4, trainingTasks: 4, rollout };
  let n = 0;
  const found = async (draw: () => number, next: () => number) =>
    (await checkEnvironment(counting(draw, next), options)).unrepeatable.join("\n");
  expect(
    await found(
      () => 7,
      () => 1,
    ),
  ).toBe("");
  expect(await found(Math.random, () => 1)).toMatch(/^Task 0 of test is another one the second time: .*Count from.* and then/);
  expect(
    await found(
      () => 7,
      () => ++n,
    ),
  ).toMatch(/^The episode of task 0 of test is another one .* from message 2 on: .*\\"n\\":1/);
}, 60_000);
