import "../../test/office.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { layout } from "../runs/layout.ts";
import { createRun, reopenRun } from "../runs/write.ts";
import { resolveConfig } from "./config/config.ts";
import type { UserConfig } from "./config/user-config.ts";
import type { TrainingEvent } from "./record/events.ts";
import { train } from "./trainer.ts";

export const small: UserConfig = {
  environment: "letters",
  rollout: { tasksPerStep: 4, groupSize: 4, maxTokens: 4 },
  optimizer: { learningRate: 0.1, schedule: "constant" },
  algorithm: { kind: "seeupo", klCoef: 0 },
  evaluation: { tasks: 0 },
  checkpoint: { every: 2, keep: 2 },
  steps: 6,
  seed: 5,
};
export const newFolder = () => join(mkdtempSync(join(tmpdir(), "retrograde-record-")), "run");

export async function work(folder: string, changes: UserConfig = {}, onEvent?: (event: TrainingEvent) => void, resume = false) {
  const config = resolveConfig(small, changes);
  if (resume) reopenRun(folder, config);
  else createRun(folder, config);
  const engine = new TableEngine(lettersVocabulary);
  return train({ config, engine, chat: lettersChat(), environment: lettersEnvironment(), folder, onEvent });
}

export const metricsOf = (folder: string) => readFileSync(layout.metrics(folder), "utf8");
