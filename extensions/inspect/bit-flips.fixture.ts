import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { RetrogradeError } from "../../src/core/errors.ts";
import { randomStream } from "../../src/core/random.ts";
import { layout } from "../../src/runs/layout.ts";
import { contentOf, WarnedError } from "./whole-run.fixture.ts";

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
