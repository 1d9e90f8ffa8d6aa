import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import type { TrajectoryId } from "../../src/core/trajectory.ts";
import { requireOwnFolder, writeFileAtomic } from "../../src/runs/files.ts";
import { layout } from "../../src/runs/layout.ts";
import { finishedNames, readJson } from "../../src/runs/read.ts";
import { schemaVersion, versionSchema } from "../../src/runs/schema.ts";
import { sealed } from "../../src/runs/seal.ts";

/** `rescored/since-000002/ID.json`: log-probs of an episode's action tokens under the weights after that step. */
const rescoredSchema = z.object({
  schema: versionSchema,
  trajectory: z.string(),
  /** One list a turn, one log-prob in nats a token. */
  logprobs: z.array(z.array(z.number())),
});

/** The log-probs of one episode under the weights of another step than the one that sampled it. */
export interface RescoredLogprobs {
  /** Training steps that the weights had seen; 0 is the model that the run started from. */
  readonly since: number;
  readonly logprobs: readonly (readonly number[])[];
}

/** Keeps what was computed of an episode beside the run, for the dashboard. */
export function writeRescored(folder: string, trajectory: TrajectoryId, { since, logprobs }: RescoredLogprobs): void {
  const path = layout.rescored(folder, since, trajectory);
  for (const own of [layout.rescoredFolder(folder), dirname(path)]) requireOwnFolder(own);
  mkdirSync(dirname(path), { recursive: true });
  writeFileAtomic(path, `${sealed(JSON.stringify({ schema: schemaVersion, trajectory, logprobs }))}\n`);
}

/** Reads what was rescored of an episode, the earliest weights first. @throws RunError where a file is damaged */
export function readRescored(folder: string, trajectory: TrajectoryId): RescoredLogprobs[] {
  return finishedNames(layout.rescoredFolder(folder))
    .flatMap((name) => {
      const since = Number(/^since-(\d+)$/.exec(name)?.[1] ?? Number.NaN);
      const path = layout.rescored(folder, since, trajectory);
      return existsSync(path) ? [{ since, logprobs: readJson(path, rescoredSchema).logprobs }] : [];
    })
    .sort((a, b) => a.since - b.since);
}
