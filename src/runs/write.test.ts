import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RunError } from "../core/errors.ts";
import { readIndexLines } from "./index-file.ts";
import { layout } from "./layout.ts";
import { appendMessage, readMessages } from "./live.ts";
import { readEpisodes, readEvaluations, readMetrics, readRun, readSummary, readTimings, readTrajectories } from "./read.ts";
import type { EvaluationRecord } from "./records.ts";
import { addStep, newRun, timing, trajectoryOf } from "./store.fixture.ts";
import {
  carryEvaluations,
  createRun,
  finishRun,
  newRunFolder,
  packageVersion,
  removeIfEmpty,
  reopenRun,
  requireEmpty,
  requireFree,
  requireSameParts,
  requireSameRun,
  writeEvaluation,
} from "./write.ts";

const newFolder = () => mkdtempSync(join(tmpdir(), "retrograde-write-"));
const config = { seed: 1, steps: 9, algorithm: { kind: "grpo" }, environment: { name: "office" } };
const evaluation = (when: EvaluationRecord["when"], step: number, split = "test"): EvaluationRecord => {
  const share = { mean: 0.5, low: 0.4, high: 0.6 };
  return {
    ...{ when, step, split, tasks: 1, k: 1, temperature: 0, ...share, passAt: [], passAll: [] },
    ...{ decoding: "greedy", measure: "success", sampledTokens: 5, reward: share, meanTurns: 2, toolCalls: 1 },
    ...{ stopReasons: { done: 1 }, byKind: [], behaviours: [], byRequests: [], byTurns: [] },
  };
};

test("a folder is free if it is new or empty; half-written files of a killed process do not count", () => {
  const folder = newFolder();
  requireFree(folder);
  requireFree(join(folder, "new"));
  writeFileSync(join(folder, ".run.json.unfinished"), "{");
  requireFree(folder);
  writeFileSync(join(folder, "notes.txt"), "");
  const other = "a folder with other files";
  expect(() => requireFree(folder)).toThrow(
    `${folder} is "${other}"; expected a new or empty folder. Choose another one with --out.`,
  );
  expect(() => requireEmpty(folder)).toThrow(other);
  expect(() => requireFree(join(folder, "notes.txt"))).toThrow('notes.txt is "a file"; expected a new or empty folder.');
  expect(() => requireFree(newRun())).toThrow(
    /is "a run already"; expected a new folder\. Continue that run with --resume, or choose another folder with --out/,
  );
});

test("a run's record says what it is of, what made it, and when", () => {
  const folder = join(newFolder(), "run");
  createRun(folder, config, "cuda", { tasks: "abc" });
  const { created, ...record } = readRun(folder);
  expect(record).toEqual({
    ...{ schema: expect.anything(), config, seed: 1, version: packageVersion(), node: process.version, device: "cuda" },
    origin: expect.stringMatching(/^[0-9a-f]{64}$/),
    madeOf: { tasks: "abc" },
  });
  expect(Math.abs(Date.parse(created) - Date.now())).toBeLessThan(60_000);
  expect(packageVersion()).toBe(JSON.parse(readFileSync("package.json", "utf8")).version);
  expect(readRun(newRun())).not.toHaveProperty("madeOf");
});

test("the first setting that differs is named; those that move no number may differ", () => {
  const folder = newRun();
  requireSameRun(folder, { ...config, out: "other", checkpoint: { every: 1 }, limits: 1, record: 2, gone: undefined });
  const refused = (changed: object) => expect(() => requireSameRun(folder, changed as Record<string, unknown>));
  refused({ ...config, environment: { name: "office", out: 1 } }).toThrow(
    `environment.out of the run in ${folder} is missing; expected 1, as this configuration says. A run continues only under its own`,
  );
  refused({ ...config, algorithm: {} }).toThrow("algorithm.kind of the run in");
  refused({ ...config, algorithm: {} }).toThrow("expected nothing, as this configuration says");
  refused({ ...config, algorithm: null }).toThrow(/algorithm of the run in .* is \{"kind":"grpo"\}; expected null/);
  expect(() => requireSameRun(folder, config, { ...config, steps: 8 })).toThrow(`steps of the run in ${folder} is 8; expected 9`);
});

test("a run continues over what it began with, or knowingly over what has changed", () => {
  const folder = join(newFolder(), "run");
  createRun(folder, config, undefined, { tasks: "a", code: "b" });
  expect(requireSameParts(folder, { tasks: "a", code: "b" }, false)).toBeUndefined();
  expect(() => requireSameParts(folder, { tasks: "a", code: "c" }, false)).toThrow(
    `${folder} is "code has changed since the run began"; expected the tasks, data and code that it began with. ` +
      "Put them back, start a new run with --out, or continue knowingly with --allow-changed (allowChanged in code).",
  );
  expect(requireSameParts(folder, { code: "b", data: "d" }, true)).toBe(
    "tasks, data have changed since the run began: evaluations before and after that are not compared",
  );
  expect(requireSameParts(newRun(), { tasks: "a" }, false)).toBeUndefined(); // a run of an earlier version
});

test("a step is its episodes, their line in the index, its metrics and its times, with a checksum of the metrics", () => {
  const folder = newRun();
  addStep(folder, 1, [trajectoryOf("step-1/0/0"), trajectoryOf("step-1/0/1", { reward: 0 })], { kl: 0.5 });
  expect(readTrajectories(folder, 1).map(({ id, reward }) => [id, reward])).toEqual([
    ["step-1/0/0", 1],
    ["step-1/0/1", 0],
  ]);
  expect(readMetrics(folder)).toEqual([{ step: 1, metrics: { reward: 0.1, kl: 0.5 } }]);
  expect(readTimings(folder)).toEqual([{ step: 1, ...timing, metricsCrc32: expect.any(Number) }]);
  expect(readIndexLines(folder)).toMatchObject([{ file: "trajectories/step-000001.jsonl.gz", source: "train", step: 1 }]);
  const path = layout.metrics(folder);
  writeFileSync(path, readFileSync(path, "utf8").replace("0.5", "0.6"));
  expect(() => readMetrics(folder)).toThrow(/checksum/);
});

test("the end of one run's evaluations is the start of the next one's; what is there stays", () => {
  const [from, to] = [newRun(), newRun()];
  writeEvaluation(from, evaluation("before", 0), [trajectoryOf("a/0")]);
  writeEvaluation(from, evaluation("after", 9), [trajectoryOf("b/0")]);
  writeEvaluation(from, evaluation("after", 9, "challenge"), [trajectoryOf("c/0")]);
  writeEvaluation(to, { ...evaluation("before", 0, "challenge"), mean: 0.1 }, [trajectoryOf("d/0")]);
  carryEvaluations(from, to);
  const kept = readEvaluations(to).map(({ when, step, split, mean }) => `${when} ${step} ${split} ${mean}`);
  expect(kept.toSorted()).toEqual(["before 0 challenge 0.1", "before 0 test 0.5"]);
  expect(readEpisodes(to, evaluation("before", 0)).map(({ id }) => id)).toEqual(["b/0"]);
  expect(readIndexLines(to).map(({ source, split }) => [source, split])).toEqual([
    ["before", "challenge"],
    ["before", "test"],
  ]);
});

test("a run that continues plays an evaluation again whose record is missing, and refuses metrics that lost a step", async () => {
  const folder = newRun();
  writeEvaluation(folder, evaluation("before", 0), [trajectoryOf("a/0")]);
  addStep(folder, 1, [trajectoryOf("step-1/0/0")]);
  rmSync(layout.evaluation(folder, evaluation("before", 0)));
  expect(reopenRun(folder, config)).toBe(0);
  expect(readIndexLines(folder)).toEqual([]);
  expect([readMetrics(folder), readTimings(folder)]).toEqual([[], []]);
  const { writeCheckpoint } = await import("./checkpoints.ts");
  const progress = { step: 2, position: 0, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 1, peakRssMb: 1 };
  addStep(folder, 1, [trajectoryOf("step-1/0/0")]);
  addStep(folder, 2, [trajectoryOf("step-2/0/0")]);
  await writeCheckpoint(
    folder,
    progress,
    { saveState: async (into) => writeFileSync(join(into, "s"), ""), dropState: async () => {} },
    2,
  );
  const path = layout.timing(folder);
  const [first = "", second = ""] = readFileSync(path, "utf8").split("\n");
  writeFileSync(path, `${second}\n`);
  rmSync(layout.metrics(folder));
  expect(() => reopenRun(folder, config)).toThrow(RunError);
  expect(() => reopenRun(folder, config)).toThrow(
    /metrics\.jsonl is "without the line of step 1"; expected a line for each of the 2 steps up to the newest checkpoint\. The file was damaged/,
  );
  expect(first).not.toBe(second);
});

test("a run that continues keeps its messages, but for half of one, and removes what a kill left", () => {
  const folder = newRun();
  appendMessage(folder, { level: "notice", step: 0, message: "one" });
  appendMessage(folder, { level: "warning", step: 5, message: "two" });
  const path = layout.messages(folder);
  writeFileSync(path, `${readFileSync(path, "utf8")}{"half`);
  mkdirSync(layout.trajectoryFolder(folder));
  for (const name of ["step-000003.jsonl.gz", ".step-000001.unfinished", "notes.txt"])
    writeFileSync(join(layout.trajectoryFolder(folder), name), "");
  writeFileSync(join(folder, ".summary.json.unfinished"), "");
  expect(reopenRun(folder, config)).toBe(0);
  expect(readMessages(folder).map(({ message }) => message)).toEqual(["one", "two"]);
  expect(readFileSync(path, "utf8").endsWith("\n")).toBe(true);
  expect(readdirSync(layout.trajectoryFolder(folder))).toEqual(["notes.txt"]);
  expect(readdirSync(folder)).not.toContain(".summary.json.unfinished");
});

test("a folder of a run has a name that no other has, of letters, digits and a few signs", () => {
  const root = newFolder();
  const named = (name: string) => newRunFolder(root, name).slice(root.length + 1);
  expect(["office-grpo", "office-grpo", "../..", "", "a b/c:d", "größe_1.2", "-.x", "x".repeat(200)].map(named)).toEqual([
    ...["office-grpo-1", "office-grpo-2", "run-1", "run-2", "a-b-c-d-1", "größe_1.2-1", "x-1", `${"x".repeat(100)}-1`],
  ]);
  writeFileSync(join(root, "file"), "");
  expect(() => newRunFolder(join(root, "file"), "x")).toThrow(/not (written|a folder)|unreadable/);
});

test("a run ends with its model, whose files have checksums, then with its summary", async () => {
  const folder = newRun();
  const summary = {
    before: null,
    after: null,
    steps: 9,
    episodes: 1,
    toolCalls: 2,
    sampledTokens: 3,
    wallSeconds: 4,
    peakRssMb: 5,
  };
  let wasFinished: boolean | undefined;
  await finishRun(folder, summary, async (into) => {
    wasFinished = existsSync(layout.summary(folder));
    writeFileSync(join(into, "model.bin"), "weights");
  });
  expect(wasFinished).toBe(false);
  expect(readSummary(folder)).toMatchObject(summary);
  expect(readdirSync(layout.model(folder)).length).toBeGreaterThan(1);
  expect(readFileSync(join(layout.model(folder), "model.bin"), "utf8")).toBe("weights");
});

test("a folder of a run that ended before anything was written is removed, others stay", () => {
  const folder = newFolder();
  mkdirSync(join(folder, "empty"));
  removeIfEmpty(join(folder, "empty"));
  expect(existsSync(join(folder, "empty"))).toBe(false);
  writeFileSync(join(folder, "file"), "");
  removeIfEmpty(folder);
  removeIfEmpty(join(folder, "none"));
  expect(readdirSync(folder)).toEqual(["file"]);
});
