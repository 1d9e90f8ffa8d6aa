import { join } from "node:path";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { gunzipBounded } from "../../src/files/bounded.ts";
import { readRunFile } from "../../src/runs/files.ts";
import { type IndexLine, indexLine, readIndexLines } from "../../src/runs/index-file.ts";
import { damaged, finishedNames } from "../../src/runs/read.ts";
import { type Decoding, evaluationMoments } from "../../src/runs/records.ts";
import { decodeTrajectories, decodeTrajectory } from "../../src/runs/trajectory-file.ts";

/**
 * Reads what a run has of trajectories. Files without a line, as after a kill between file and line, are read whole; lines whose file is gone are left out.
 */
export function readIndex(folder: string): IndexLine[] {
  const lines = new Map(readIndexLines(folder).map((line) => [line.file, line]));
  return trajectoryFiles(folder).map((of) => lines.get(of.file) ?? indexedNow(folder, of));
}

/** Files of trajectories that are there, with what their names say: training in order of steps, then evaluations. */
export function trajectoryFiles(folder: string): Pick<IndexLine, "file" | "source" | "split" | "decoding" | "step">[] {
  const named = (parent: string) => finishedNames(join(folder, parent)).filter((name) => name.endsWith(".jsonl.gz"));
  const training = named("trajectories").flatMap((name) => {
    const step = /^step-(\d+)\.jsonl\.gz$/.exec(name)?.[1];
    return step === undefined ? [] : [{ file: `trajectories/${name}`, source: "train" as const, step: Number(step) }];
  });
  const evaluations = named("evaluations").flatMap((name) => {
    const [, step, when, split, greedy] = /^step-(\d+)-(before|during|after)-(.+?)(-greedy)?\.jsonl\.gz$/.exec(name) ?? [];
    const source = evaluationMoments.find((moment) => moment === when);
    const decoding: Decoding = greedy === undefined ? "sampled" : "greedy";
    return source === undefined ? [] : [{ file: `evaluations/${name}`, source, split, decoding, step: Number(step) }];
  });
  return [...training, ...evaluations];
}

function indexedNow(folder: string, of: Pick<IndexLine, "file" | "source" | "split" | "decoding" | "step">): IndexLine {
  const path = join(folder, of.file);
  try {
    const text = gunzipBounded(readRunFile(path));
    const offsets = [0];
    for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) offsets.push(at + 1);
    return indexLine(of, decodeTrajectories(readRunFile(path)), offsets);
  } catch (cause) {
    throw damaged(path, cause);
  }
}

/** Reads single trajectories of a run. Keeps the text of the files that were read last. */
export class TrajectoryReader {
  readonly #folder: string;
  readonly #texts = new Map<string, Buffer>();
  readonly #kept: number;

  constructor(folder: string, kept = 3) {
    this.#folder = folder;
    this.#kept = kept;
  }

  /** @throws RunError where the file is missing or damaged */
  read({ file, offsets }: Pick<IndexLine, "file" | "offsets">, index: number): Trajectory {
    const line = this.line({ file, offsets }, index);
    try {
      return decodeTrajectory(line);
    } catch (cause) {
      throw damaged(join(this.#folder, file), cause);
    }
  }

  /** The stored line, for a search of text. */
  line({ file, offsets }: Pick<IndexLine, "file" | "offsets">, index: number): string {
    return this.#text(file).toString("utf8", offsets[index], offsets[index + 1]);
  }

  #text(file: string): Buffer {
    const known = this.#texts.get(file);
    if (known !== undefined) return known;
    const path = join(this.#folder, file);
    try {
      const text = gunzipBounded(readRunFile(path));
      this.#texts.set(file, text);
      const oldest = this.#texts.keys().next().value;
      if (this.#texts.size > this.#kept && oldest !== undefined) this.#texts.delete(oldest);
      return text;
    } catch (cause) {
      throw damaged(path, cause);
    }
  }
}
