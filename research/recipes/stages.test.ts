import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { layout } from "../../src/runs/layout.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { environment } from "./calculator-questions.ts";
import { calculatorConfigs } from "./calculator-run.ts";
import { runStages } from "./stages.ts";

const screen = createScreen({ write: () => true });
const ended = { before: null, after: null, steps: 8, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 0, peakRssMb: 0 };

test("stages run in turn: one that has ended is passed over, one that was stopped continues, and a failure ends them", async () => {
  const root = mkdtempSync(join(tmpdir(), "stages-"));
  const stage = (name: string, model: string) => ({ config: { steps: 8, seed: 3 }, folder: join(root, name), model });
  const stages = [stage("form", "small"), stage("grpo", join(root, "form")), stage("last", join(root, "grpo"))];
  const played: unknown[][] = [];
  const codes = [0, 0, 0, 7];
  const run = async (...given: unknown[]) => {
    played.push(given);
    return codes.shift() ?? 0;
  };
  expect(await runStages(stages, screen, run)).toBe(0);
  expect(played).toEqual(
    stages.map(({ config, folder: out, model }) => [
      { ...config, model, out },
      { out },
      { resume: false, dashboard: false },
      screen,
    ]),
  );
  for (const [name, isEnded] of [
    ["form", true],
    ["grpo", false],
  ] as const) {
    mkdirSync(join(root, name));
    writeFileSync(layout.run(join(root, name)), "{}");
    if (isEnded) writeFileSync(layout.summary(join(root, name)), JSON.stringify(ended));
  }
  played.length = 0;
  expect(await runStages(stages, screen, run)).toBe(7);
  expect(played.map(([config, , flags]) => [(config as { out: string }).out, flags])).toEqual([
    [join(root, "grpo"), { resume: true, dashboard: false }],
  ]);
});

test("the calculator's form is taught by demonstrations, then its questions are learned", () => {
  const { form, reinforcement } = calculatorConfigs({ seed: 11, algorithm: "seeupo", device: "cuda", threads: 3 });
  const shared = {
    seed: 11,
    environment,
    engine: {
      kind: "local",
      device: "cuda",
      threads: 3,
      lora: { rank: 16, alpha: 32, targets: "all-linear" },
      maxLength: 512,
      memory: 3,
    },
    rollout: { tasksPerStep: 16, groupSize: 8, maxTurns: 2, maxTokens: 120 },
  };
  expect(form).toEqual({
    ...shared,
    algorithm: { kind: "sft", tokensPerStep: 3200 },
    optimizer: { learningRate: 7e-4 },
    steps: 30,
    evaluation: { tasks: 0 },
  });
  expect(reinforcement).toEqual({
    ...shared,
    algorithm: { kind: "seeupo" },
    optimizer: { learningRate: 4e-4 },
    steps: 40,
    evaluation: { tasks: 160, k: 1 },
  });
});
