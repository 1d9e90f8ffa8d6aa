import "../extensions/install.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readRun } from "../src/runs/read.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import type { UserConfig } from "../src/training/config/user-config.ts";
import { lettersEnvironment } from "./letters.ts";
import { writeTinyModel } from "./tiny-model.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-device-"));
const model = join(folder, "model");
beforeAll(() => writeTinyModel(model));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** @returns the notices of a run of one step, and what its `run.json` says of the device */
async function train(device: "auto" | "cpu"): Promise<{ notices: string[]; recorded: string | undefined }> {
  const out = join(folder, `run-${device}`);
  const settings: UserConfig = {
    ...{ model, out, environment: lettersEnvironment(), steps: 1, engine: { device, threads: 1 } },
    rollout: { tasksPerStep: 2, groupSize: 2, maxTokens: 4 },
    evaluation: { tasks: 1, k: 1 },
  };
  const notices: string[] = [];
  await runPlan(await planRun(settings), {
    onEvent: (event) => {
      if (event.type === "notice") notices.push(event.message);
    },
  });
  return { notices, recorded: readRun(out).device };
}

test("a run says on its opening lines and in run.json what auto took and what else it tried", async () => {
  const { notices, recorded } = await train("auto");
  expect(recorded).toMatch(
    /^(cpu|(webgpu|cuda|cpu) trains [\d,]+ and samples [\d,]+ tokens\/s in 2 of the model's layers), the fastest here \(.+, .+\)/,
  );
  expect(notices).toContain(`Computing on ${recorded}`);
});

test("a run on the CPU, as by default, needs no words", async () => {
  const { notices, recorded } = await train("cpu");
  expect(recorded).toBe("cpu");
  expect(notices.filter((notice) => notice.startsWith("Computing on"))).toEqual([]);
});

test("a device that there is not is refused before anything starts, with what was probably meant", () => {
  expect(() => resolveConfig({ engine: { device: "webgp" as "webgpu" } })).toThrow(
    'device is "webgp"; expected "cpu", "webgpu", "cuda" or "auto". Did you mean "webgpu"?',
  );
});
