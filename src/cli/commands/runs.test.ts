import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { invoke } from "../../../test/command-line.ts";
import { layout } from "../../runs/layout.ts";
import { addStep, newRun, trajectoryOf } from "../../runs/store.fixture.ts";

test("programs read the list of runs, and one run as JSON", async () => {
  const run = newRun();
  const root = dirname(run);
  addStep(run, 1, [trajectoryOf("step-1/0/0")], { entropy: 0.5 });
  const damaged = join(root, "damaged");
  mkdirSync(damaged);
  writeFileSync(layout.run(damaged), "{");
  const read = async (...args: readonly string[]) => JSON.parse((await invoke("runs", ...args, "--json")).out);

  const state = { folder: run, algorithm: "grpo", steps: 1, plannedSteps: 9, before: null, after: null, finished: false };
  const listed = await read("--in", root);
  expect(listed.runs).toEqual([{ ...state, created: expect.any(String) }]);
  expect(listed.damaged).toMatchObject([{ folder: damaged, error: expect.stringContaining("run.json") }]);
  expect((await invoke("runs", "--in", root)).out).toMatch(/grpo +1\/9 +– +– +unfinished/);

  expect(await read("show", run)).toMatchObject({
    ...{ ...state, config: { seed: 1, environment: { name: "office" } }, evaluations: [], summary: null },
    metrics: [{ step: 1, metrics: { reward: 0.1, entropy: 0.5 } }],
  });
});
