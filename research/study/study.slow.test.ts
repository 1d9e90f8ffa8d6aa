import "../install.ts";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DivergenceError, EngineError, RunError } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import { estimateLines } from "./estimate.ts";
import { executeRun, trainingFolder } from "./execute.ts";
import { runId } from "./plan.ts";
import { smallDefinition, smallStudy } from "./small-study.fixture.ts";
import { readOutcomes, studyLayout } from "./store.ts";
import { fell } from "./tuning.ts";
import { writeStudy } from "./write.ts";

const before = process.cwd();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "retrograde-study-"));
  process.chdir(folder);
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true, force: true });
});

test("a run is trained, kept as one line, and continued where it was interrupted", async () => {
  const study = smallStudy();
  const key = { world: "near", arm: "b", rate: 1e-3, seed: 1 };
  const controller = new AbortController();
  const onEvent = ({ type }: { readonly type: string }) => type === "stepped" && controller.abort();
  await expect(executeRun(study, key, "results", { onEvent, signal: controller.signal })).rejects.toThrow("interrupted");
  expect(readOutcomes(study, "results")).toEqual([]);

  const outcome = await executeRun(study, key, "results");
  expect(readOutcomes(study, "results")).toEqual([outcome]);
  expect(outcome.curve.map(({ steps, episodes, values }) => [steps, episodes, values.length])).toEqual([
    [0, 0, 2],
    [1, 4, 2],
    [2, 8, 2],
  ]);
  expect(outcome.curve[2].toolCalls).toBeGreaterThan(outcome.curve[1].toolCalls);
  expect(outcome.final.sampled).toHaveLength(3);
  expect(outcome.final.greedy).toHaveLength(3);
  expect(outcome.curve[0].values.every((value) => value === 0 || value === 1)).toBe(true);
  expect(existsSync(trainingFolder(study, key))).toBe(false);
  expect(readFileSync(studyLayout.outcomes("results")).length).toBeLessThan(2_000);

  const paths = writeStudy(study, "results", "retrograde-rl study small");
  expect(paths.every((path) => existsSync(path))).toBe(true);
  const [header, row] = readFileSync(studyLayout.table("results"), "utf8").split("\n");
  const cells = Object.fromEntries(header.split(",").map((name, i) => [name, row.split(",")[i]]));
  expect(cells).toMatchObject({
    arm: "b",
    rate: "0.001",
    purpose: "reported",
    steps: "2",
    sampled: mean(outcome.final.sampled).toFixed(4),
  });
});

test("numbers that are not finite are an outcome of the run; an engine's own error is none, and the run is made again", async () => {
  const study = smallStudy();
  const key = { world: "near", arm: "b", rate: 1e-3, seed: 1 };
  const failing =
    (error: Error) =>
    ({ type }: { readonly type: string }) => {
      if (type === "stepped") throw error;
    };
  const lost = new EngineError("the GPU", "lost");
  await expect(executeRun(study, key, "lost", { onEvent: failing(lost) })).rejects.toThrow("the GPU");
  expect(readOutcomes(study, "lost")).toEqual([]);
  const outcome = await executeRun(study, key, "lost", { onEvent: failing(new DivergenceError("loss", Number.NaN)) });
  expect(outcome.collapsed).toContain("loss is");
  expect(mean(outcome.curve.at(-1)?.values ?? [])).toBe(0);
  expect(readOutcomes(study, "lost")).toEqual([outcome]);
});

test("a tuning run ends where it falls, with the values that it had", async () => {
  const { near } = smallDefinition.worlds;
  const evaluation = { tasks: 60, k: 1, during: { every: 1, tasks: 60 } };
  const falling = { ...near, config: { ...near.config, steps: 9, evaluation } };
  const study = smallStudy({ worlds: { ...smallDefinition.worlds, near: falling } });
  const outcome = await executeRun(study, { world: "near", arm: "b", rate: 0.1, seed: 11 }, "falling");
  expect(outcome).toMatchObject({ ended: true, final: { sampled: [] } });
  expect(outcome.curve.length).toBeLessThan(9);
  expect(fell(outcome)).toBe(true);
  expect(readOutcomes(study, "falling")).toEqual([outcome]);
});

test("outcomes of another plan are refused: a plan is fixed before its first run", () => {
  const near = { ...smallDefinition.worlds.near, config: { ...smallDefinition.worlds.near.config, steps: 3 } };
  const changed = smallStudy({ worlds: { ...smallDefinition.worlds, near } });
  expect(() => readOutcomes(changed, "results")).toThrow("of another plan");
  expect(() => readOutcomes(smallStudy({ rates: [1e-4, 1e-3, 1e-2] }), "results")).not.toThrow();
});

test("a damaged outcome is named", () => {
  const path = studyLayout.outcomes("results");
  const whole = readFileSync(path);
  writeFileSync(path, "{\n");
  expect(() => readOutcomes(smallStudy(), "results")).toThrow(RunError);
  expect(() => readOutcomes(smallStudy(), "results")).toThrow(/outcomes\.jsonl, line 1 .*Delete the line to run it again/s);
  writeFileSync(path, whole);
});

test("--dry-run says arms, runs and hours, from measured seconds once there are some", () => {
  const study = smallStudy();
  const lines = estimateLines(study, [], {}, 2).join("\n");
  expect(lines).toContain(
    "2 arms: 8 runs that choose among rates (0.0001, 0.001) + 6 reported = 14 runs; 0 done; 0.1 h of one core in all, 36 s a run",
  );
  expect(lines).toContain("cannot start: it has no model.");
  expect(lines).toContain("Nothing was started.");
  const [outcome] = readOutcomes(study, "results");
  const measured = estimateLines(study, [{ ...outcome, cpuSeconds: 72 }], {}, 1).join("\n");
  expect(measured).toContain("1 done; 0.3 h of one core in all, 72 s a run");
  expect(runId(outcome)).toBe("near.b.0.001.1");
});
