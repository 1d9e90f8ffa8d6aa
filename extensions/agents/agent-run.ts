import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { z } from "zod";
import { present } from "../../src/core/present.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { writeRecord } from "../../src/runs/files.ts";
import { layout } from "../../src/runs/layout.ts";
import type { Summary } from "../../src/runs/records.ts";
import { schemaVersion } from "../../src/runs/schema.ts";
import { createRun, removeIfEmpty, requireFree, writeEvaluation } from "../../src/runs/write.ts";
import { scoreOf } from "../../src/training/evaluation/scores.ts";
import { summarise } from "../../src/training/evaluation/summarise.ts";
import { type MeasuredAgent, seed } from "./measure.ts";
import { type AttemptsFile, measuredSchema, openAttempts, type RecordHead } from "./record-file.ts";

/** The things of an agent's evaluation that its run keeps beside the episodes. */
export interface MeasuredRun {
  /** For people. */
  readonly agent: string;
  /** For people; undefined where the agent called its own. */
  readonly model?: string;
  readonly split: string;
  /** Temperature of every answer; undefined where the agent chose it. */
  readonly temperature?: number | undefined;
  readonly seconds: number;
}

interface Episodic extends MeasuredAgent<object> {
  readonly episodes: readonly Trajectory[];
}

/** A folder for the run of an evaluation, which is taken from now on. It keeps attempts until the run is written. */
export interface OpenAgentRun extends Pick<AttemptsFile<z.infer<typeof measuredSchema>>, "known" | "add" | "close"> {
  /** Writes the run: an evaluation, and nothing trained. */
  write(found: Episodic, measured: MeasuredRun): void;
}

/** @throws RunError where the folder is taken; ConfigError where it has attempts of another origin */
export function openAgentRun(out: string, origin: RecordHead): OpenAgentRun {
  const folder = resolve(out);
  requireFree(folder);
  const file = join(folder, ".attempts.jsonl");
  const { known, add, close } = openAttempts(file, origin, measuredSchema);
  return {
    ...{ known, add },
    write: (found, measured) => {
      write(folder, found, measured);
      rmSync(file);
    },
    close: () => {
      close();
      removeIfEmpty(folder);
    },
  };
}

function write(
  folder: string,
  { k, tasks, scoredBy, episodes }: Episodic,
  { agent, model = "the agent's own", split, temperature = 1, seconds }: MeasuredRun,
): void {
  const groups = tasks.map((_, i) => ({ id: `${split}/${i}`, trajectories: episodes.slice(i * k, (i + 1) * k) }));
  const names = groups.map(({ trajectories }) => ({ id: present(trajectories[0], "an attempt").task }));
  createRun(folder, {
    ...{ seed, steps: 0, algorithm: { kind: "evaluation" }, environment: { name: "agent", settings: {} } },
    ...{ agent, model, evaluation: { split, tasks: tasks.length, k }, scoredBy },
  });
  const record = {
    ...({ when: "after", step: 0, split, decoding: temperature === 0 ? "greedy" : "sampled", temperature } as const),
    madeOf: scoredBy,
    ...summarise(names, groups, seed),
  };
  writeEvaluation(folder, record, episodes);
  const summary: Summary = {
    ...{ before: null, after: scoreOf([record]), steps: 0, episodes: episodes.length },
    ...{ toolCalls: record.toolCalls, sampledTokens: record.sampledTokens, wallSeconds: seconds },
    peakRssMb: process.resourceUsage().maxRSS / 1024,
  };
  writeRecord(layout.summary(folder), { schema: schemaVersion, ...summary });
}
