import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { trainAgent } from "../extensions/agents/taught-agent.ts";
import type { AgentTraining } from "../extensions/agents/train-agent.ts";

import { readMetrics, readTrajectories } from "../src/runs/read.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** Agents that know nothing of this package, trained for a step with the real engine. */

// Inside of the project, so that the agents find their packages.
export const folder = mkdtempSync(join(import.meta.dirname, "../node_modules/.train-agent-"));
export const model = join(folder, "model");
export const read = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, "../models/office", name), "utf8"));
beforeAll(async () => {
  await writeTinyModel(model, { tokenizer: read("tokenizer.json"), config: read("tokenizer_config.json") });
});
afterAll(() => rmSync(folder, { recursive: true }));

export interface Asked {
  readonly prompt: string;
  readonly length: number;
}
export const tasks: Asked[] = Array.from({ length: 10 }, (_, i) => ({ prompt: `Say ${i}.`, length: i % 3 }));
export let runs = 0;

export async function trained(training: Pick<AgentTraining<Asked>, "agent"> & Partial<AgentTraining<Asked>>) {
  const out = join(folder, `run-${runs++}`);
  const answers: unknown[] = [];
  const settings = { steps: 1, algorithm: "grpo", model, out, engine: { threads: 1 }, evaluation: { tasks: 0 } } as const;
  const rollout = { tasksPerStep: 2, groupSize: 3, maxTurns: 4, maxTokens: 12, episodeTimeoutMs: 60_000 };
  const reward = ({ answer }: { readonly answer: unknown }) => {
    answers.push(answer);
    return String(answer).length % 3;
  };
  await trainAgent<Asked>({ tasks, reward, ...settings, rollout, ...training }, { print: false });
  const [{ metrics }] = readMetrics(out);
  return { metrics, answers, trajectories: readTrajectories(out, 1) };
}

export const clean = { episodes: 6, "stop/environment-error": 0, "score/agent.refused": 0 };
