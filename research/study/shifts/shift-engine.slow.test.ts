import "../../install.ts";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StudyDefinition } from "../definition.ts";
import { executeRun, trainingFolder } from "../execute.ts";
import { smallDefinition, smallStudy } from "../small-study.fixture.ts";

const model = resolve("models/office-handover");
const before = process.cwd();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "retrograde-shifts-"));
  process.chdir(folder);
});

afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true, force: true });
});

function lora(rank: number) {
  return { rank, alpha: 32, targets: "all-linear", base: "float32" } as const;
}

test("an arm with shifts trains an adapter for each, turn by turn in reverse order", async () => {
  const near = {
    ...smallDefinition.worlds.near,
    config: {
      model,
      environment: { name: "office", settings: { scenario: "handover", reward: "dense" } },
      rollout: { tasksPerStep: 2, groupSize: 4 },
      steps: 2,
      engine: { threads: 1, lora: lora(4) },
      evaluation: { tasks: 2, k: 1, during: { every: 1, tasks: 2 } },
    },
  };
  const arms: StudyDefinition["arms"] = {
    ...smallDefinition.arms,
    b: { title: "B", config: { algorithm: "seeupo-scaled" }, shifts: 3 },
  };
  const study = smallStudy({ worlds: { ...smallDefinition.worlds, near }, arms });
  const key = { world: "near", arm: "b", rate: 1e-3, seed: 1 };
  const outcome = await executeRun(study, key, "results", { keep: true });
  expect(outcome.collapsed).toBeUndefined();
  expect(outcome.optimiserSteps).toBeGreaterThan(2);
  const run = trainingFolder(study, key);
  expect(readdirSync(join(run, "model")).filter((name) => name.startsWith("shift"))).toEqual(["shift-0", "shift-1", "shift-2"]);
});
