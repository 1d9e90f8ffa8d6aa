import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CreditWriter } from "../../src/runs/credits.ts";
import { indexLine } from "../../src/runs/index-file.ts";
import { layout } from "../../src/runs/layout.ts";
import { schemaVersion } from "../../src/runs/schema.ts";
import { addStep, newRun, trajectoryOf } from "../../src/runs/store.fixture.ts";
import { compareRuns } from "./compare.ts";
import { readCredits } from "./read-credits.ts";
import { readIndex, TrajectoryReader, trajectoryFiles } from "./read-index.ts";
import { addRemark, marksOf, readRemarks } from "./remarks.ts";

const steps = (...all: readonly number[]) => {
  const folder = newRun();
  for (const step of all)
    addStep(folder, step, [trajectoryOf(`step-${step}/0/0`), trajectoryOf(`step-${step}/0/1`, { reward: 0 })]);
  return folder;
};

test("files of trajectories are known by their names, and others are left alone", () => {
  const folder = steps(2, 1);
  for (const name of ["step-3.jsonl", "step-x.jsonl.gz", "other.jsonl.gz"])
    writeFileSync(join(layout.trajectoryFolder(folder), name), "");
  expect(trajectoryFiles(folder)).toEqual(
    [1, 2].map((step) => ({ file: `trajectories/step-00000${step}.jsonl.gz`, source: "train", step })),
  );
  const evaluation = (name: string) => {
    const own = newRun();
    addStep(own, 1, [trajectoryOf("step-1/0/0")]);
    renameSync(layout.trajectoryFolder(own), layout.evaluationFolder(own));
    renameSync(join(layout.evaluationFolder(own), "step-000001.jsonl.gz"), join(layout.evaluationFolder(own), name));
    return trajectoryFiles(own).map(({ file: _, ...rest }) => rest);
  };
  const of = (source: string, split: string, decoding: string, step: number) => [{ source, split, decoding, step }];
  expect(evaluation("step-000000-before-test.jsonl.gz")).toEqual(of("before", "test", "sampled", 0));
  expect(evaluation("step-000012-after-my-split-greedy.jsonl.gz")).toEqual(of("after", "my-split", "greedy", 12));
  expect(evaluation("step-000003-during-a.jsonl.gz")).toEqual(of("during", "a", "sampled", 3));
  expect(evaluation("step-000003-later-a.jsonl.gz")).toEqual([]);
});

test("an index is that of the file, and of the trajectories where it is missing", () => {
  const folder = steps(1, 2);
  const written = readIndex(folder);
  rmSync(layout.index(folder));
  expect(readIndex(folder)).toEqual(written);
  expect(existsSync(layout.index(folder))).toBe(false);
  truncateSync(layout.trajectories(folder, 2), 30);
  expect(() => readIndex(folder)).toThrow(/step-000002\.jsonl\.gz is "unreadable/);
});

test("single episodes are read, the files that were read last are kept, and a damaged one is named", () => {
  const folder = steps(1, 2, 3);
  const lines = readIndex(folder);
  const reader = new TrajectoryReader(folder, 2);
  expect(lines.map((line) => reader.read(line, 1).id)).toEqual(["step-1/0/1", "step-2/0/1", "step-3/0/1"]);
  expect(JSON.parse(reader.line(lines[2], 0))).toMatchObject({ id: "step-3/0/0" });
  for (const step of [1, 2, 3]) rmSync(layout.trajectories(folder, step));
  expect(reader.read(lines[2], 0).id).toBe("step-3/0/0");
  expect(reader.read(lines[1], 0).id).toBe("step-2/0/0");
  expect(() => reader.read(lines[0], 0)).toThrow(/trajectories.step-000001\.jsonl\.gz is "(?:missing|unreadable)/);
  expect(() => reader.read({ ...lines[1], offsets: [3, 9] }, 0)).toThrow(/step-000002\.jsonl\.gz is "unreadable/);
});

const credited = async (folder: string, step = 1) => {
  const writer = new CreditWriter(folder);
  const turn = { trajectory: `step-${step}/0/0`, before: [-1, -2], old: [-1, -1], weights: [1, 3] };
  writer.write(step, [
    { ...turn, optimiserStep: 0, turn: 0, learningRate: 0.2, advantage: 2, factor: 0.5 },
    { ...turn, optimiserStep: 1, turn: 1, learningRate: 0.1 },
  ]);
  await writer.flush();
};

test("credits of a step are its turns with their tokens, and none where a file of two is missing", async () => {
  const folder = newRun();
  expect(await readCredits(folder, 1)).toBeUndefined();
  await credited(folder);
  const credits = await readCredits(folder, 1);
  expect(credits).toMatchObject([
    {
      optimiserStep: 0,
      trajectory: "step-1/0/0",
      turn: 0,
      advantage: 2,
      factor: 0.5,
      rateShare: 1,
      weights: [1, 3],
      before: [-1, -2],
    },
    { optimiserStep: 1, turn: 1, advantage: Number.NaN, factor: Number.NaN, rateShare: 0.5 },
  ]);
  expect(credits?.[0]?.learningRate).toBeCloseTo(0.2, 6);
  expect(credits?.[0]?.end).toEqual([Number.NaN, Number.NaN]);
  rmSync(layout.turnCredits(folder, 1));
  expect(await readCredits(folder, 1)).toBeUndefined();
});

test("credits that are not as they were written, or of another step, are damaged", async () => {
  const folder = newRun();
  await credited(folder);
  const path = layout.tokenCredits(folder, 1);
  const bytes = readFileSync(path);
  bytes[8] ^= 1;
  writeFileSync(path, bytes);
  await expect(readCredits(folder, 1)).rejects.toThrow(
    /-tokens\.parquet is "unreadable \(it has another checksum than when it was written\)"/,
  );
  const other = newRun();
  await credited(other, 2);
  writeFileSync(path, readFileSync(layout.tokenCredits(other, 2)));
  await expect(readCredits(folder, 1)).rejects.toThrow(
    /-tokens\.parquet is "of other turns than the file beside it"; expected the tokens of each turn, in order/,
  );
  truncateSync(path, 20);
  await expect(readCredits(folder, 1)).rejects.toThrow(/-tokens\.parquet is "unreadable/);
});

test("of several marks of an episode the last counts, and one that was taken back does not", () => {
  const folder = newRun();
  const mark = (trajectory: string, reward: number | null) => addRemark(folder, { kind: "mark", trajectory, reward });
  const before = new Date().toISOString();
  addRemark(folder, { kind: "note", text: "a note" });
  for (const [id, reward] of [
    ["a", 1],
    ["b", 0.5],
    ["a", 0],
    ["b", null],
    ["c", 0],
  ] as const)
    mark(id, reward);
  const records = readRemarks(folder);
  expect(records.map(({ remark }) => remark.kind)).toEqual(["note", "mark", "mark", "mark", "mark", "mark"]);
  expect(records[0]).toMatchObject({ schema: schemaVersion, remark: { kind: "note", text: "a note" } });
  expect(records.every(({ at }) => at >= before)).toBe(true);
  expect([...marksOf(records)]).toEqual([
    ["a", 0],
    ["c", 0],
  ]);
  appendFileSync(layout.remarks(folder), "no JSON\n");
  expect(() => readRemarks(folder)).toThrow(/remarks\.jsonl/);
});

test("runs with too many errors, or without a common task, are not compared", () => {
  const run = (task: string, ends: readonly string[]) => {
    const all = ends.map((stopReason, i) =>
      trajectoryOf(`a/${i}`, { task: `${task}${i}`, group: `${i}`, stopReason: stopReason as never }),
    );
    const line = indexLine({ file: "after", source: "after", split: "test", step: 5 }, all, [...all.keys(), all.length]);
    return { record: { config: { environment: "office" } }, index: [line] };
  };
  const sound = Array<string>(10).fill("done");
  expect(() => compareRuns(run("t", sound), run("t", [...sound.slice(2), "environment-error", "environment-error"]))).toThrow(
    'the evaluations on test is "no verdict: 2 of 10 attempts of the second ended by an error, more than a tenth"; expected errors in at most ' +
      "a tenth of the attempts. An attempt that an error ended has no score. Evaluate both models again, by `retrograde-rl eval --compare`.",
  );
  // A tenth may be, and is no pair.
  const [rare] = compareRuns(run("t", sound), run("t", [...sound.slice(1), "environment-error"]));
  expect(rare?.paired.tasks).toBe(9);
  expect(compareRuns(run("t", sound), run("other", sound))).toEqual([]);
});
