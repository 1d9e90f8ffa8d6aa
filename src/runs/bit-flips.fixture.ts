import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { RetrogradeError } from "../core/errors.ts";
import { randomStream } from "../core/random.ts";
import { newestWhole } from "./checkpoints.ts";
import { readControl } from "./control.ts";
import { readCredits } from "./credits.ts";
import { readIndex } from "./index-file.ts";
import { layout } from "./layout.ts";
import { readMessages } from "./live.ts";
import { readEvaluations, readMetrics, readRun, readSummary, readTimings, readTrajectories } from "./read.ts";

/** Everything that is read of a run, as one text. The damage of a newest checkpoint is a warning. */
async function contentOf(folder: string): Promise<string> {
  const warnings: string[] = [];
  const checkpoint = newestWhole(folder, (message) => warnings.push(message));
  if (warnings.length > 0) throw new WarnedError();
  const metrics = readMetrics(folder);
  const steps = metrics.map(({ step }) => step);
  return JSON.stringify([
    [checkpoint, readRun(folder), metrics, readTimings(folder), readEvaluations(folder), readSummary(folder)],
    [readIndex(folder), readControl(folder), readMessages(folder), steps.map((step) => readTrajectories(folder, step))],
    await Promise.all(steps.map((step) => readCredits(folder, step))),
  ]);
}

class WarnedError extends Error {}

/**
 * Flips bits over the files of a run, one at a time.
 * @returns how many were refused, warned of, and changed nothing that is read
 * @throws Error for one that changes what is read
 */
export async function flipBits(folder: string, flips: number): Promise<Record<"refused" | "warned" | "unchanged", number>> {
  const written = await contentOf(folder);
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(layout.model(folder)))
    .map((entry) => join(entry.parentPath, entry.name));
  const outcomes = { refused: 0, warned: 0, unchanged: 0 };
  for (let flip = 0; flip < flips; flip++) {
    const random = randomStream(1, "flips", flip);
    const path = random.pick(paths);
    const bytes = readFileSync(path);
    const damaged = Buffer.from(bytes);
    damaged[random.integer(bytes.length)] ^= 1 << random.integer(8);
    writeFileSync(path, damaged);
    try {
      if ((await contentOf(folder)) !== written)
        throw new Error(`flip ${flip} of ${relative(folder, path)} is read as other content`);
      outcomes.unchanged++;
    } catch (error) {
      if (error instanceof WarnedError) outcomes.warned++;
      else if (error instanceof RetrogradeError) outcomes.refused++;
      else throw error;
    }
    writeFileSync(path, bytes);
  }
  return outcomes;
}
