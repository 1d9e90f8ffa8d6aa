import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigError, RunError } from "../../src/core/errors.ts";
import { readTrajectories } from "../../src/runs/read.ts";
import { toolCallsSpent } from "../../src/training/branching.ts";
import { resolveConfig } from "../../src/training/config.ts";
import { armConfig, armNames, sharedConfig } from "./arms.ts";
import { curvesSvg } from "./figure.ts";
import { reportLines } from "./report.ts";
import { resultsOf } from "./results.ts";
import { type FinishedRun, finishRun } from "./runs.ts";

const shared = resolveConfig(sharedConfig({ every: 1, tasks: 4 }), {
  environment: "office",
  rollout: { tasksPerStep: 2, groupSize: 4 },
  steps: 2,
  threads: 1,
});
let out: string;
let runs: FinishedRun[];

beforeAll(async () => {
  out = mkdtempSync(join(tmpdir(), "retrograde-study-"));
  runs = [];
  for (const arm of ["grpo", "arpo"]) runs.push(await finishRun({ arm, seed: 1, out, shared }, {}));
});
afterAll(() => rmSync(out, { recursive: true, force: true }));

test("a run's curve has the calls that its training spent, shared ones once", () => {
  for (const { arm, points } of runs) {
    const spent = [1, 2].map((step) => toolCallsSpent(readTrajectories(join(out, "runs", `${arm}-seed-1`), step)));
    expect(points.map(({ step, calls }) => [step, calls])).toEqual([
      [0, 0],
      [1, spent[0]],
      [2, spent[0] + spent[1]],
    ]);
    expect(points.every(({ rewards }) => rewards.length === 4)).toBe(true);
  }
  const [grpo, arpo] = runs;
  expect(arpo.episodes).toBe(grpo.episodes);
  expect(arpo.points[0].rewards).toEqual(grpo.points[0].rewards); // the same model on the same tasks
  expect(arpo.points[2].calls).toBeLessThan(grpo.points[2].calls);
});

test("results, page and picture of them hold every arm", () => {
  const results = resultsOf(runs, shared);
  expect(results.bands.map(({ arm }) => arm)).toEqual(["grpo", "arpo"]);
  expect(results.gaps.map(({ arm, base, share }) => [arm, base, share])).toEqual([
    ["arpo", "grpo", 1],
    ["arpo", "grpo", 0.5],
  ]);
  expect(reportLines(results).join("\n")).toContain("| ARPO, reference rule − GRPO | 0.5 |");
  expect(curvesSvg(results)).toContain("ARPO, reference rule");
  expect(JSON.parse(JSON.stringify(results)).runs).toHaveLength(2);
});

test("a finished run is read, a broken one goes on, another configuration's is refused", async () => {
  const summary = join(out, "runs", "grpo-seed-1", "summary.json");
  const written = statSync(summary).mtimeMs;
  expect(await finishRun({ arm: "grpo", seed: 1, out, shared }, {})).toEqual(runs[0]);
  expect(statSync(summary).mtimeMs).toBe(written);
  await expect(finishRun({ arm: "grpo", seed: 1, out, shared: { ...shared, steps: 3 } }, {})).rejects.toThrow(RunError);

  const elsewhere = join(out, "broken");
  const controller = new AbortController();
  const onEvent = ({ type }: { readonly type: string }) => type === "stepped" && controller.abort();
  const broken = finishRun({ arm: "arpo", seed: 1, out: elsewhere, shared }, { onEvent, signal: controller.signal });
  await expect(broken).rejects.toThrow("interrupted");
  expect((await finishRun({ arm: "arpo", seed: 1, out: elsewhere, shared }, {})).points).toEqual(runs[1].points);
});

test("arms differ in algorithm and rollouts alone, and have equal numbers of leaves but for the one that says so", () => {
  for (const arm of armNames) {
    const { algorithm, rollout, ...rest } = resolveConfig(armConfig(arm, shared));
    const { algorithm: _, rollout: wished, ...others } = shared;
    expect(rest).toEqual(others);
    expect(rollout.groupSize).toBe(arm === "grpo-half" ? 2 : 4);
    expect({ ...rollout, groupSize: 0, branching: 0 }).toEqual({ ...wished, groupSize: 0, branching: 0 });
    if ("aggregation" in algorithm) expect(algorithm.aggregation).toBe("token-mean");
  }
  expect(() => armConfig("reinforce", shared)).toThrow(ConfigError);
});
