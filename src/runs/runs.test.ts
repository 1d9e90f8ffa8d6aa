import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { RunError } from "../core/errors.ts";
import type { Trajectory, Turn } from "../core/trajectory.ts";
import { engineStateFolder, writeCheckpoint } from "./checkpoints.ts";
import { writeFileAtomic, writeFolderAtomic } from "./files.ts";
import { layout } from "./layout.ts";
import { checkpointSteps, listRuns, readMetrics, readProgress, readRun, readTrajectories, trajectorySteps } from "./read.ts";
import { decodeTrajectories, encodeTrajectories } from "./trajectory-file.ts";
import { createRun, newRunFolder, reopenRun, writeStep } from "./write.ts";

/** Whether the disk is full, as every write finds it. */
const disk = vi.hoisted(() => ({ full: false }));
vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const writeSync = (...args: Parameters<typeof fs.writeSync>) => {
    if (disk.full) throw Object.assign(new Error("no space left on device, write"), { code: "ENOSPC" });
    return fs.writeSync(...args);
  };
  return { ...fs, writeSync };
});

const newFolder = () => mkdtempSync(join(tmpdir(), "retrograde-run-"));
const config = { seed: 7, steps: 4, rollout: { groupSize: 2 }, out: "somewhere", limits: { logprobGap: 0.02 } };

function turn(index: number, context: readonly number[], action: readonly number[]): Turn {
  return {
    trajectory: "a",
    turn: index,
    context,
    action,
    samplerLogprobs: action.map((id) => -id / 3),
    entropies: action.map((id) => id / 7),
    weightVersion: 3,
    truncated: false,
    rewritten: index === 2,
    invalidToolCalls: 0,
    toolCalls: 1,
  };
}

const trajectory: Trajectory = {
  id: "a",
  group: "g",
  task: "t",
  // The third context was rewritten: it parts from the history after two ids.
  turns: [{ ...turn(0, [1, 2, 3], [4, 5]), role: "planner" }, turn(1, [1, 2, 3, 4, 5, 6, 7], [8]), turn(2, [1, 2, 9], [10, 11])],
  reward: 0.1 + 0.2,
  scores: { success: 0 },
  behaviours: { asks: { done: 1, called: 2 } },
  stopReason: "done",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "assistant", content: "", toolCalls: [{ name: "find", arguments: { name: "Ana", deep: [1, { x: null }] } }] },
    { role: "tool", name: "find", content: "ü" },
  ],
};

/** With the ids of every context in one array. */
const flat = (trajectories: readonly Trajectory[]) =>
  trajectories.map((each) => ({ ...each, turns: each.turns.map((turn) => ({ ...turn, context: [...turn.context] })) }));

const timing = {
  rolloutSeconds: 1,
  updateSeconds: 1,
  sampledTokens: 10,
  sampledTokensPerSecond: 10,
  trainedTokens: 5,
  trainedTokensPerSecond: 5,
  denseTokens: 6,
  rssMb: 100,
};

const progressAt = (step: number) => ({
  step,
  position: step * 16,
  episodes: 0,
  toolCalls: 0,
  sampledTokens: 0,
  wallSeconds: 1.5,
  peakRssMb: 100,
});

function writeSteps(folder: string, from: number, to: number): void {
  for (let step = from; step <= to; step++)
    writeStep(folder, { step, metrics: { reward: step / 3, kl: null } }, { step, ...timing }, [trajectory]);
}

const dropState = async () => {};
const saveState = async (folder: string) => writeFileSync(join(folder, "state.bin"), "weights");

test("trajectories come back id for id, whether history continues or was rewritten", () => {
  expect(flat(decodeTrajectories(encodeTrajectories([trajectory, trajectory]).bytes))).toEqual([trajectory, trajectory]);
});

test("a run is read back as it was written", async () => {
  const root = newFolder();
  const folder = newRunFolder(root, "office-seeupo");
  createRun(folder, config);
  writeSteps(folder, 1, 2);
  expect(readRun(folder)).toMatchObject({ config, seed: 7 });
  expect(readMetrics(folder)).toEqual([
    { step: 1, metrics: { reward: 1 / 3, kl: null } },
    { step: 2, metrics: { reward: 2 / 3, kl: null } },
  ]);
  expect(flat(readTrajectories(folder, 2))).toEqual([trajectory]);
  expect(listRuns(root).runs.map((run) => run.folder)).toEqual([folder]);
  expect(newRunFolder(root, "office-seeupo")).toBe(join(root, "office-seeupo-2"));
});

test("a half-written last line of metrics is left out", () => {
  const folder = newFolder();
  createRun(folder, config);
  writeSteps(folder, 1, 2);
  const lines = readFileSync(layout.metrics(folder), "utf8");
  writeFileSync(layout.metrics(folder), `${lines}{"step":3,"met`);
  expect(readMetrics(folder).map(({ step }) => step)).toEqual([1, 2]);
});

test("reopening a run takes all of it back to the newest checkpoint", async () => {
  const folder = newFolder();
  createRun(folder, config);
  writeSteps(folder, 1, 2);
  const before = readFileSync(layout.metrics(folder));
  await writeCheckpoint(folder, progressAt(2), { saveState, dropState }, 2);
  writeSteps(folder, 3, 4);
  mkdirSync(join(layout.checkpointFolder(folder), ".step-000004.unfinished"));
  expect(reopenRun(folder, config)).toBe(2);
  expect(readFileSync(layout.metrics(folder))).toEqual(before);
  expect(trajectorySteps(folder)).toEqual([1, 2]);
  expect(readdirSync(layout.checkpointFolder(folder))).toEqual(["step-000002"]);
  expect(readProgress(folder, 2)).toEqual(progressAt(2));
});

test("only the newest checkpoints are kept", async () => {
  const folder = newFolder();
  createRun(folder, config);
  const dropped: string[] = [];
  const remember = async (state: string) => {
    expect(existsSync(state)).toBe(true); // what it refers to can still be read
    dropped.push(state);
  };
  for (const step of [1, 2, 3]) await writeCheckpoint(folder, progressAt(step), { saveState, dropState: remember }, 2);
  expect(checkpointSteps(folder)).toEqual([2, 3]);
  expect(dropped).toEqual([engineStateFolder(folder, 1)]);
});

test("a folder of another configuration is refused with the first setting that differs", () => {
  const folder = newFolder();
  createRun(folder, config);
  expect(() => reopenRun(folder, { ...config, rollout: { groupSize: 8 } })).toThrow(RunError);
  expect(() => reopenRun(folder, { ...config, rollout: { groupSize: 8 } })).toThrow(
    /rollout\.groupSize of the run in .* is 2; expected 8/,
  );
});

test("settings that move no number may change from one process to the next", () => {
  const folder = newFolder();
  createRun(folder, config);
  expect(reopenRun(folder, { ...config, out: undefined, limits: { logprobGap: 1 } })).toBe(0);
});

test("a run never overwrites another", () => {
  const folder = newFolder();
  createRun(folder, config);
  expect(() => createRun(folder, config)).toThrow("Continue that run with --resume");
});

test("a damaged file is named", () => {
  const folder = newFolder();
  createRun(folder, config);
  writeFileSync(layout.run(folder), '{"seed": 1}');
  expect(() => readRun(folder)).toThrow(/run\.json is "unreadable/);
});

test("a file that fails half way leaves the old one as it was and nothing beside it", async () => {
  const folder = newFolder();
  const path = join(folder, "state");
  await writeFolderAtomic(path, async (into) => writeFileSync(join(into, "a"), "old"));
  const half = writeFolderAtomic(path, async (into) => {
    writeFileSync(join(into, "a"), "new");
    throw new Error("stopped between writing and renaming");
  });
  await expect(half).rejects.toThrow("stopped between writing and renaming");
  expect(readFileSync(join(path, "a"), "utf8")).toBe("old");
  expect(readdirSync(folder)).toEqual(["state"]);
});

test("a full disk is a RunError that says how to go on", () => {
  const folder = newFolder();
  createRun(folder, config);
  writeSteps(folder, 1, 1);
  disk.full = true;
  try {
    expect(() => writeSteps(folder, 2, 2)).toThrow(RunError);
  } finally {
    disk.full = false;
  }
  expect(readMetrics(folder).map(({ step }) => step)).toEqual([1]);
  expect(readdirSync(layout.trajectoryFolder(folder))).toEqual(["step-000001.jsonl.gz"]);
});

test("a disk that fills while an engine writes its state is the same error, and leaves the checkpoints that there were", async () => {
  const folder = newFolder();
  createRun(folder, config);
  await writeCheckpoint(folder, progressAt(1), { saveState, dropState }, 2);
  const full = async () => {
    throw new Error("weights not written", { cause: Object.assign(new Error("no space left on device"), { code: "ENOSPC" }) });
  };
  await expect(writeCheckpoint(folder, progressAt(2), { saveState: full, dropState }, 2)).rejects.toThrow("The disk is full.");
  expect(readdirSync(layout.checkpointFolder(folder))).toEqual(["step-000001"]);
});

test("a folder that cannot be written says which other way there is", () => {
  const folder = newFolder();
  writeFileSync(join(folder, "file"), "");
  expect(() => writeFileAtomic(join(folder, "file", "run.json"), "{}")).toThrow("Choose another folder with --out.");
});

test("the name of an environment never leads out of the folder of runs, and two that ask at once get two names", () => {
  const root = newFolder();
  expect(newRunFolder(root, "../../evil-seeupo")).toBe(join(root, "evil-seeupo-1"));
  expect(newRunFolder(root, "../../evil-seeupo")).toBe(join(root, "evil-seeupo-2"));
  expect(newRunFolder(root, "a/b\\c:\0d")).toBe(join(root, "a-b-c-d-1"));
  expect(newRunFolder(root, "...")).toBe(join(root, "run-1"));
});

test("what a kill in the first instant leaves is no run, and the folder can be used", () => {
  const folder = newFolder();
  writeFileSync(join(folder, ".run.json.unfinished"), '{"sch');
  writeFileSync(join(folder, ".lock"), "999999999 elsewhere - x");
  createRun(folder, config);
  expect(readRun(folder).seed).toBe(7);
});

test("a damaged run.json is listed apart and harms no other run", () => {
  const root = newFolder();
  createRun(join(root, "good"), config);
  createRun(join(root, "bad"), config);
  writeFileSync(layout.run(join(root, "bad")), "{");
  const { runs, damaged } = listRuns(root);
  expect(runs.map(({ folder }) => folder)).toEqual([join(root, "good")]);
  expect(damaged).toEqual([{ folder: join(root, "bad"), error: expect.stringContaining('run.json is "unreadable') }]);
});
