import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeRecord } from "../../src/runs/files.ts";
import { layout } from "../../src/runs/layout.ts";
import type { EvaluationRecord, Summary } from "../../src/runs/records.ts";
import { schemaVersion } from "../../src/runs/schema.ts";
import { trajectoryOf } from "../../src/runs/store.fixture.ts";
import { createRun, writeEvaluation } from "../../src/runs/write.ts";
import { summarise } from "../../src/training/evaluation/summarise.ts";
import { lettersTokenizer } from "../../test/letters.ts";

export const root = mkdtempSync(join(tmpdir(), "retrograde-taught-"));

/** A model of letters, for an engine that needs no weights. */
export const model = join(root, "model");
mkdirSync(model);
writeFileSync(join(model, "tokenizer.json"), JSON.stringify(lettersTokenizer.tokenizer));
writeFileSync(join(model, "tokenizer_config.json"), JSON.stringify(lettersTokenizer.config));

type Moment = Pick<EvaluationRecord, "when" | "decoding"> & {
  /** The attempts at each task that succeed: 1 or 0. */
  readonly successes: readonly (readonly number[])[];
};

/** Writes what a finished run leaves: its record, evaluations, model and summary. */
export function finish(folder: string, moments: readonly Moment[] = [], more: Partial<Summary> = {}): Summary {
  createRun(folder, { seed: 1, steps: 1, algorithm: { kind: "grpo" }, environment: { name: "agent" } });
  for (const { when, decoding, successes } of moments) {
    const groups = successes.map((rewards, task) => ({
      id: `test/${task}`,
      trajectories: rewards.map((reward, i) => trajectoryOf(`test/${task}/${i}`, { task: `test/${task}`, reward })),
    }));
    const record = {
      ...({ when, step: when === "before" ? 0 : 1, split: "test", decoding } as const),
      ...{ temperature: decoding === "greedy" ? 0 : 1, madeOf: "x", ...summarise(groups, groups, 1) },
    };
    writeEvaluation(
      folder,
      record,
      groups.flatMap(({ trajectories }) => trajectories),
    );
  }
  cpSync(model, layout.model(folder), { recursive: true });
  const summary = {
    ...{ before: null, after: null, steps: 1, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 60, peakRssMb: 100 },
    ...more,
  };
  writeRecord(layout.summary(folder), { schema: schemaVersion, ...summary });
  return summary;
}
