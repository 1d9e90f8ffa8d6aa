import "../../test/office.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { layout } from "../runs/layout.ts";
import { createRun, reopenRun } from "../runs/write.ts";
import { resolveConfig, rewardsFromCode } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import type { TrainingEvent } from "../training/record/events.ts";
import { train } from "../training/trainer.ts";
import { createRewards } from "./create.ts";

export const key = "sk-very-secret-0123456789";
export const small: UserConfig = {
  environment: "letters",
  rollout: { tasksPerStep: 4, groupSize: 4, maxTokens: 4 },
  optimizer: { learningRate: 0.1, schedule: "constant" },
  algorithm: { kind: "seeupo", klCoef: 0.002 },
  evaluation: { tasks: 4, k: 2 },
  checkpoint: { every: 2, keep: 1 },
  steps: 4,
  seed: 5,
};
export const newFolder = () => join(mkdtempSync(join(tmpdir(), "retrograde-rewards-")), "run");

export interface Process {
  readonly resume?: boolean;
  readonly onEvent?: (event: TrainingEvent) => void;
  readonly signal?: AbortSignal;
}

/** As the SDK does it, on the table of letters. */
export async function work(folder: string, user: UserConfig, { resume = false, onEvent, signal }: Process = {}) {
  const config = resolveConfig(small, user);
  const rewards = createRewards(config.rewards ?? [], {
    code: rewardsFromCode(user),
    limits: config.limits,
    timeoutMs: 60_000,
    folder,
    env: { JUDGE_KEY: key },
  });
  if (resume) reopenRun(folder, config);
  else createRun(folder, config);
  const engine = new TableEngine(lettersVocabulary);
  return train({ config, engine, chat: lettersChat(), environment: lettersEnvironment(), rewards, folder, onEvent, signal });
}

export const saidIn = (attempt: string) =>
  [...attempt.matchAll(/"role":"assistant","content":"([^"]*)"/g)].map(([, text]) => text).join("");
/** Likes c, whatever the environment likes. */
export const shareOfC = (attempt: string) =>
  [...saidIn(attempt)].filter((letter) => letter === "c").length / Math.max(1, saidIn(attempt).length);
export const metricsOf = (folder: string) => readFileSync(layout.metrics(folder), "utf8");
