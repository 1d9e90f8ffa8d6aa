import "../install.ts";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { layout } from "../../src/runs/layout.ts";
import { sealed } from "../../src/runs/seal.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { doStudy, executeRun } from "./cli/study.ts";
import { readOutcomes } from "./outcome.ts";
import { smallStudy } from "./small-study.fixture.ts";

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

const study = smallStudy();
const key = { world: "near", arm: "b", rate: 1e-3, seed: 1 };
const training = "runs/study-small/near.b.0.001.1";

test("a run is trained, kept as one line, and continued where it was interrupted", async () => {
  const controller = new AbortController();
  const stepped = setInterval(() => existsSync(layout.metrics(training)) && controller.abort(), 20);
  await expect(executeRun(study, key, "results", controller.signal)).rejects.toThrow("interrupted");
  clearInterval(stepped);
  expect(existsSync(training)).toBe(true);
  expect(readOutcomes(study, "results")).toEqual([]);
  const outcome = await executeRun(study, key, "results");
  expect(readOutcomes(study, "results")).toEqual([outcome]);
  expect(outcome.curve.map(({ steps, values }) => [steps, values.length])).toEqual([
    [0, 2],
    [1, 2],
    [2, 2],
  ]);
  expect([outcome.final.sampled.length, outcome.final.greedy?.length]).toEqual([3, 3]);
  expect(outcome.curve[0]?.values.every((value) => value === 0 || value === 1)).toBe(true);
  expect(existsSync(training)).toBe(false);
});

test("a run that is made once more is compared with the published one", async () => {
  const repeated = async (published: string) => {
    rmSync("mine", { recursive: true, force: true });
    let text = "";
    const screen = createScreen({ write: (part: string) => (text += part) });
    const flags = { arms: "b", seeds: "1", out: "mine" };
    await doStudy({ ...study, questions: { only: { title: "", seeds: [1], contrasts: [contrast] } } }, published, flags, screen);
    return text;
  };
  const contrast = { title: "", outcome: "greedy", more: ["near", "b", 1e-3], less: ["near", "a", 1e-3] } as const;
  expect(await repeated("results")).toContain("  equal to the published run in every task of every evaluation");
  const path = join("results", "outcomes.jsonl");
  const { crc32, ...kept } = JSON.parse(readFileSync(path, "utf8")) as { crc32: number };
  writeFileSync(path, `${sealed(JSON.stringify({ ...kept, optimiserSteps: 7 }))}\n`);
  expect(await repeated("results")).toContain("not equal to the published run: ");
});
