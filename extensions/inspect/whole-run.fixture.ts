import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newestWhole, writeCheckpoint } from "../../src/runs/checkpoints.ts";
import { encodeCredits } from "../../src/runs/credits.ts";
import { layout } from "../../src/runs/layout.ts";
import { appendMessage, readMessages } from "../../src/runs/live.ts";
import { readEvaluations, readMetrics, readRun, readSummary, readTimings, readTrajectories } from "../../src/runs/read.ts";
import type { EvaluationRecord, Summary } from "../../src/runs/records.ts";
import { addStep, newRun, trajectoryOf } from "../../src/runs/store.fixture.ts";
import { finishRun, writeEvaluation } from "../../src/runs/write.ts";
import { readCredits } from "./read-credits.ts";
import { readIndex } from "./read-index.ts";

const progress = { step: 0, position: 4, episodes: 8, toolCalls: 2, sampledTokens: 9, wallSeconds: 1, peakRssMb: 1 };
const estimate = { mean: 0.5, low: 0.25, high: 0.75 };
const numbers = { before: null, after: null, ...{ steps: 2, episodes: 8, toolCalls: 2, sampledTokens: 9, wallSeconds: 1 } };
const credit = { trajectory: "step-1/0/0", learningRate: 0.1, weights: [1, -2], before: [-1, -2], old: [-1, -2.5] };

/** A finished run with a file of each kind. */
export async function wholeRun(): Promise<string> {
  const folder = newRun();
  for (const step of [1, 2]) {
    addStep(folder, step, [trajectoryOf(`step-${step}/0/0`), trajectoryOf(`step-${step}/0/1`, { reward: 0.5 })]);
    const { tokens, turns } = encodeCredits([{ ...credit, optimiserStep: 0, turn: 0 }]);
    mkdirSync(layout.creditFolder(folder), { recursive: true });
    writeFileSync(layout.tokenCredits(folder, step), tokens);
    writeFileSync(layout.turnCredits(folder, step), turns);
    const saveState = async (into: string) => writeFileSync(join(into, "weights.bin"), Buffer.alloc(200, step));
    await writeCheckpoint(folder, { ...progress, step }, { saveState, dropState: async () => {} }, 2);
  }
  appendMessage(folder, { level: "notice", step: 1, message: "Computing" });
  const record = {
    ...estimate,
    when: "after",
    step: 2,
    split: "test",
    tasks: 2,
    k: 1,
    temperature: 1,
    passAt: [],
    reward: estimate,
  };
  const rest = { meanTurns: 2, toolCalls: 1, stopReasons: {}, byKind: [], byRequests: [], byTurns: [] };
  writeEvaluation(folder, { ...record, ...rest } as unknown as EvaluationRecord, [trajectoryOf("after-test-2/0/0")]);
  await finishRun(folder, { ...numbers, peakRssMb: 1 } as Summary, async (into) =>
    writeFileSync(join(into, "model.safetensors"), Buffer.alloc(200, 3)),
  );
  return folder;
}

/** Everything that is read of a run, as one text. The damage of a newest checkpoint is a warning. */
export async function contentOf(folder: string): Promise<string> {
  const warnings: string[] = [];
  const checkpoint = newestWhole(folder, (message) => warnings.push(message));
  if (warnings.length > 0) throw new WarnedError();
  const metrics = readMetrics(folder);
  const steps = metrics.map(({ step }) => step);
  return JSON.stringify([
    [checkpoint, readRun(folder), metrics, readTimings(folder), readEvaluations(folder), readSummary(folder)],
    [readIndex(folder), readMessages(folder), steps.map((step) => readTrajectories(folder, step))],
    await Promise.all(steps.map((step) => readCredits(folder, step))),
  ]);
}

export class WarnedError extends Error {}
