import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { z } from "zod";
import type { Group } from "../../src/core/trajectory.ts";
import type { Task } from "../../src/environments/environment.ts";
import { writeRecord } from "../../src/runs/files.ts";
import { layout } from "../../src/runs/layout.ts";
import type { Summary } from "../../src/runs/records.ts";
import { schemaVersion } from "../../src/runs/schema.ts";
import { createRun, removeIfEmpty, requireFree, writeEvaluation } from "../../src/runs/write.ts";
import { scoreOf } from "../../src/training/evaluation/scores.ts";
import { summarise } from "../../src/training/evaluation/summarise.ts";
import { seed } from "./measure.ts";
import { type AttemptsFile, measuredSchema, openAttempts, type RecordHead } from "./record-file.ts";

/** The things of an agent's evaluation that its run keeps beside the episodes. */
export interface MeasuredRun {
  /** For people. */
  readonly agent: string;
  /** For people; undefined where the agent called its own. */
  readonly model?: string;
  readonly split: string;
  readonly k: number;
  /** Temperature of every answer; undefined where the agent chose it. */
  readonly temperature?: number | undefined;
  /** SHA-256 of what gave the rewards. */
  readonly scoredBy: string;
  readonly seconds: number;
}

/** A folder for the run of an evaluation, which is taken from now on. It keeps attempts until the run is written. */
export interface OpenAgentRun extends Pick<AttemptsFile<z.infer<typeof measuredSchema>>, "known" | "add" | "close"> {
  /** Writes the run: an evaluation, and nothing trained. @param groups one for each task */
  write(tasks: readonly Task[], groups: readonly Group[], measured: MeasuredRun): void;
}

/** @throws RunError where the folder is taken; ConfigError where it has attempts of another origin */
export function openAgentRun(out: string, origin: RecordHead): OpenAgentRun {
  const folder = resolve(out);
  requireFree(folder);
  const file = join(folder, ".attempts.jsonl");
  const { known, add, close } = openAttempts(file, origin, measuredSchema);
  return {
    ...{ known, add },
    write: (tasks, groups, measured) => {
      write(folder, tasks, groups, measured);
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
  tasks: readonly Task[],
  groups: readonly Group[],
  { agent, model = "the agent's own", split, k, temperature = 1, scoredBy, seconds }: MeasuredRun,
): void {
  createRun(folder, {
    ...{ seed, steps: 0, algorithm: { kind: "evaluation" }, environment: { name: "agent", settings: {} } },
    ...{ agent, model, evaluation: { split, tasks: tasks.length, k }, scoredBy },
  });
  const record = {
    ...({ when: "after", step: 0, split, decoding: temperature === 0 ? "greedy" : "sampled", temperature } as const),
    madeOf: scoredBy,
    ...summarise(tasks, groups, seed),
  };
  const trajectories = groups.flatMap((group) => group.trajectories);
  writeEvaluation(folder, record, trajectories);
  const summary: Summary = {
    ...{ before: null, after: scoreOf([record]), steps: 0, episodes: trajectories.length },
    ...{ toolCalls: record.toolCalls, sampledTokens: record.sampledTokens, wallSeconds: seconds },
    peakRssMb: process.resourceUsage().maxRSS / 1024,
  };
  writeRecord(layout.summary(folder), { schema: schemaVersion, ...summary });
}
