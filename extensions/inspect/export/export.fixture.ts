import { addStep, newRun, trajectoryOf } from "../../../src/runs/store.fixture.ts";

export function exampleRun(): string {
  const folder = newRun();
  addStep(folder, 1, [trajectoryOf("step-1/0/0", { task: "=1+1" })], { entropy: 0.5 });
  addStep(folder, 2, [trajectoryOf("step-2/0/0")]);
  return folder;
}
