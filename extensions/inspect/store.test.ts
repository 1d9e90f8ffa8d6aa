import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { parquetReadObjects } from "hyparquet";
import { expect, test, vi } from "vitest";
import { RunError } from "../../src/core/errors.ts";
import { CreditWriter, encodeCredits, type TurnCredit } from "../../src/runs/credits.ts";
import { readIndexLines } from "../../src/runs/index-file.ts";
import { layout } from "../../src/runs/layout.ts";
import { readMetrics, readRun, readTrajectories } from "../../src/runs/read.ts";
import type { EvaluationRecord } from "../../src/runs/records.ts";
import { addStep, newRun, trajectoryOf } from "../../src/runs/store.fixture.ts";
import { reopenRun, writeEvaluation } from "../../src/runs/write.ts";
import { entryAt, facetsOf, filterIndex, findPosition } from "./filter.ts";
import { readCredits } from "./read-credits.ts";
import { readIndex, TrajectoryReader } from "./read-index.ts";

/** Whether the disk is full, as every write on the thread pool finds it. */
const disk = vi.hoisted(() => ({ full: false }));
vi.mock("node:fs/promises", async (original) => {
  const fs = await original<typeof import("node:fs/promises")>();
  const open = async (...args: Parameters<typeof fs.open>) => {
    const file = await fs.open(...args);
    if (disk.full) file.writeFile = () => Promise.reject(Object.assign(new Error("no space left on device"), { code: "ENOSPC" }));
    return file;
  };
  return { ...fs, open };
});

function twoSteps(): string {
  const folder = newRun();
  addStep(folder, 1, [
    trajectoryOf("step-1/0/0"),
    trajectoryOf("step-1/0/1", { reward: 0, kind: "pay", stopReason: "max-turns" }),
  ]);
  addStep(folder, 2, [trajectoryOf("step-2/0/0", { task: "train/ü", reward: 0.5 })]);
  return folder;
}

test("a filter finds by the index what the trajectories say, and the reader opens exactly these", () => {
  const folder = twoSteps();
  const index = readIndex(folder);
  const ids = (filter: Parameters<typeof filterIndex>[1]) => filterIndex(index, filter).map((position) => entryAt(position).id);
  expect(ids({})).toEqual(["step-1/0/0", "step-1/0/1", "step-2/0/0"]);
  expect(ids({ success: true })).toEqual(["step-1/0/0"]);
  expect(ids({ kind: "call" })).toEqual(["step-1/0/0", "step-2/0/0"]);
  expect(ids({ stop: "max-turns" })).toEqual(["step-1/0/1"]);
  expect(ids({ minReward: 0.5, maxReward: 0.7 })).toEqual(["step-2/0/0"]);
  expect(ids({ toStep: 1, task: "1", minReward: 3 })).toEqual([]);
  const reader = new TrajectoryReader(folder);
  for (const { line, at } of filterIndex(index, {}))
    expect(reader.read(line, at)).toEqual(readTrajectories(folder, line.step)[at]);
  expect(entryAt(findPosition(index, "step-2/0/0") ?? { line: index[0], at: 0 })).toMatchObject({
    task: "train/ü",
    tokens: 5,
    turns: 2,
    toolCalls: 1,
  });
  expect(facetsOf(index)).toMatchObject({ kinds: ["call", "find", "pay"], trajectories: 3 });
});

test("evaluations are in the index, with their split", () => {
  const folder = twoSteps();
  const estimate = { mean: 1, low: 1, high: 1 };
  const record = {
    ...estimate,
    when: "after" as const,
    step: 2,
    split: "test",
    tasks: 1,
    k: 1,
    temperature: 0,
    passAt: [],
    reward: estimate,
  };
  const rest = { meanTurns: 2, toolCalls: 1, stopReasons: {}, byKind: [], byRequests: [], byTurns: [] };
  writeEvaluation(folder, { ...record, ...rest } as unknown as EvaluationRecord, [
    trajectoryOf("after-test-2/0/0", { task: "test/0" }),
  ]);
  expect(filterIndex(readIndex(folder), { source: "after", split: "test" }).map((position) => entryAt(position).task)).toEqual([
    "test/0",
  ]);
});

test("a kill between an evaluation's line in the index and its record leaves no line too many", () => {
  const folder = newRun();
  const estimate = { mean: 1, low: 1, high: 1 };
  const key = { when: "before", step: 0, split: "test", decoding: "sampled" } as const;
  const sizes = { tasks: 1, k: 1, temperature: 1, passAt: [], meanTurns: 2, toolCalls: 1 };
  const record = { ...estimate, ...key, ...sizes, reward: estimate, stopReasons: {}, byKind: [], byRequests: [], byTurns: [] };
  const write = () => writeEvaluation(folder, record as unknown as EvaluationRecord, [trajectoryOf("before-test-0/0/0")]);
  write();
  rmSync(layout.evaluation(folder, key));
  expect(readIndexLines(folder)).toHaveLength(1);
  reopenRun(folder, readRun(folder).config);
  expect(readIndexLines(folder)).toEqual([]);
  write();
  reopenRun(folder, readRun(folder).config);
  expect(readIndexLines(folder)).toHaveLength(1);
});

test("a run without an index is indexed while it is read, and says the same", () => {
  const folder = twoSteps();
  const indexed = readIndex(folder);
  writeFileSync(layout.index(folder), "");
  expect(readIndex(folder)).toEqual(indexed);
});

test("reopening takes the index back with the steps", () => {
  const folder = twoSteps();
  reopenRun(folder, readRun(folder).config);
  expect(readIndex(folder)).toEqual([]);
  expect(readMetrics(folder)).toEqual([]);
});

const credits: TurnCredit[] = [
  {
    optimiserStep: 0,
    trajectory: "a",
    turn: 1,
    advantage: 0.5,
    factor: 1,
    learningRate: 0.25,
    weights: [0.5, -1],
    before: [-1, -2],
    old: [-1, -2.5],
    after: [-0.5, -2],
  },
  { optimiserStep: 1, trajectory: "ü", turn: 0, learningRate: 0.5, weights: [2], before: [-3], old: [-3] },
];

test("credits come back as they were given, and anything that reads Parquet reads them", async () => {
  const folder = newRun();
  const writer = new CreditWriter(folder);
  writer.write(3, credits);
  await writer.flush();
  const [first, second] = (await readCredits(folder, 3)) ?? [];
  expect(first).toMatchObject({
    optimiserStep: 0,
    trajectory: "a",
    turn: 1,
    advantage: 0.5,
    factor: 1,
    rateShare: 0.5, // the second update has twice its rate
    weights: [0.5, -1],
    after: [-0.5, -2],
  });
  expect(second.rateShare).toBe(1);
  expect(first.ratios[1]).toBeCloseTo(Math.exp(0.5), 5);
  expect(first.ratio).toBeCloseTo(Math.exp(0.25), 5);
  expect(second.trajectory).toBe("ü");
  expect(second.after).toEqual([Number.NaN]);
  expect(second.factor).toBeNaN();
  const bytes = readFileSync(layout.tokenCredits(folder, 3));
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  expect((await parquetReadObjects({ file })).map(({ trajectory, weight }) => [trajectory, weight])).toEqual([
    ["a", 0.5],
    ["a", -1],
    ["ü", 2],
  ]);
  expect(await readCredits(folder, 4)).toBeUndefined();
});

test("credits of a half-written or foreign file are a RunError that names it", async () => {
  const folder = newRun();
  const writer = new CreditWriter(folder);
  writer.write(1, credits);
  await writer.flush();
  const path = layout.tokenCredits(folder, 1);
  const whole = readFileSync(path);
  truncateSync(path, whole.length - 40);
  await expect(readCredits(folder, 1)).rejects.toThrow(/step-000001-tokens\.parquet/);
  writeFileSync(path, encodeCredits(credits.slice(1)).tokens);
  await expect(readCredits(folder, 1)).rejects.toThrow(RunError);
});

test("credits that find the disk full end the next write, and leave nothing behind", async () => {
  const folder = newRun();
  const writer = new CreditWriter(folder);
  writer.write(1, credits);
  await writer.flush();
  disk.full = true;
  writer.write(2, credits);
  await expect(writer.flush()).rejects.toThrow("The disk is full.");
  disk.full = false;
  expect(() => writer.write(3, credits)).toThrow(RunError);
  expect(readdirSync(layout.creditFolder(folder)).sort()).toEqual(["step-000001-tokens.parquet", "step-000001-turns.parquet"]);
});

test("an index line that a newer version wrote is refused", () => {
  const folder = twoSteps();
  appendFileSync(layout.index(folder), '{"schema":99}\n');
  expect(() => readIndex(folder)).toThrow(/index\.jsonl/);
});
