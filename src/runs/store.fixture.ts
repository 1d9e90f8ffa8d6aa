import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message } from "../core/messages.ts";
import type { Trajectory, Turn } from "../core/trajectory.ts";
import { createRun, writeStep } from "./write.ts";

/** A trajectory of two turns: three and two tokens. */
export function trajectoryOf(id: string, changes: Partial<Trajectory> = {}): Trajectory {
  const turn = (index: number, context: readonly number[], action: readonly number[]): Turn => ({
    ...{ trajectory: id, turn: index, context, action },
    samplerLogprobs: action.map((token) => -token / 4),
    entropies: action.map((token) => token / 8),
    ...{ weightVersion: 0, truncated: false, rewritten: false, toolCalls: index === 0 ? 1 : 0, invalidToolCalls: 0 },
  });
  const messages: Message[] = [
    { role: "user", content: "Find Ana" },
    { role: "assistant", content: "", toolCalls: [{ name: "find", arguments: { name: "Ana" } }] },
    { role: "tool", name: "find", content: '[{"id":"c1"}]' },
    { role: "assistant", content: "Her number is c1" },
  ];
  return {
    ...{
      id,
      group: id.replace(/\/\d+$/, ""),
      task: "train/1",
      kind: "find+call",
      messages,
      reward: 1,
      scores: {},
      stopReason: "done",
    },
    turns: [turn(0, [1, 2], [3, 4, 5]), turn(1, [1, 2, 3, 4, 5, 6], [1, 2])],
    ...changes,
  };
}

export const timing = {
  ...{ rolloutSeconds: 2, updateSeconds: 3, sampledTokens: 10, sampledTokensPerSecond: 5, trainedTokens: 9 },
  ...{ trainedTokensPerSecond: 3, denseTokens: 12, rssMb: 100 },
};

export function newRun(name = "run"): string {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-store-")), name);
  createRun(folder, { seed: 1, steps: 9, algorithm: { kind: "grpo" }, environment: { name: "office" } });
  return folder;
}

export function addStep(
  folder: string,
  step: number,
  trajectories: readonly Trajectory[],
  metrics: Record<string, number> = {},
): void {
  writeStep(folder, { step, metrics: { reward: step / 10, ...metrics } }, { step, ...timing }, trajectories);
}
