import { existsSync, lstatSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { loadTokenizer } from "../../../src/chat/tokenizer-folder.ts";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import { type IndexLine, indexLineSchema } from "../../../src/runs/index-file.ts";
import { layout, stepOf } from "../../../src/runs/layout.ts";
import { type LiveStatus, readLive, runMessageSchema } from "../../../src/runs/live.ts";
import { finishedNames, readEvaluations, readRun, readSummary } from "../../../src/runs/read.ts";
import {
  type EvaluationRecord,
  type RunRecord,
  type Summary,
  stepRecordSchema,
  timingRecordSchema,
} from "../../../src/runs/records.ts";
import { tokenizerFolder } from "../../../src/runs/tokenizer-files.ts";
import type { IndexPosition } from "../../inspect/filter.ts";
import { type RecordedCredit, readCredits } from "../../inspect/read-credits.ts";
import { readIndex, TrajectoryReader, trajectoryFiles } from "../../inspect/read-index.ts";
import { GrowingFile } from "./growing-file.ts";
import { TokenTexts } from "./token-texts.ts";

/** A run's folder as the dashboard reads it: what grows is read from where the last look ended. It never writes. */
export class RunSource {
  readonly id: string;
  readonly folder: string;
  readonly record: RunRecord;
  readonly #metrics;
  readonly #timings;
  readonly #messages;
  readonly #index;
  readonly #trajectories: TrajectoryReader;
  readonly #credits = new Map<number, Promise<RecordedCredit[] | undefined>>();
  #texts: TokenTexts | undefined;
  #rebuilt: { readonly files: string; readonly lines: readonly IndexLine[] } | undefined;

  constructor(id: string, folder: string) {
    this.id = id;
    this.folder = folder;
    this.record = readRun(folder);
    this.#timings = new GrowingFile(layout.timing(folder), timingRecordSchema);
    const checksums = (line: number) => this.#timings.lines()[line]?.metricsCrc32;
    this.#metrics = new GrowingFile(layout.metrics(folder), stepRecordSchema, checksums);
    this.#messages = new GrowingFile(layout.messages(folder), runMessageSchema);
    this.#index = new GrowingFile(layout.index(folder), indexLineSchema);
    this.#trajectories = new TrajectoryReader(folder);
  }

  steps() {
    return this.#metrics.lines();
  }
  timings() {
    return this.#timings.lines();
  }
  messages() {
    return this.#messages.lines();
  }
  evaluations(): EvaluationRecord[] {
    return readEvaluations(this.folder);
  }
  summary(): Summary | undefined {
    return readSummary(this.folder);
  }
  live(): LiveStatus | undefined {
    return readLive(this.folder);
  }

  /** The index as it is; where files have no line in it, as after a kill between file and line, these are read once. */
  index(): readonly IndexLine[] {
    const lines = new Map(this.#index.lines().map((line) => [line.file, line]));
    const files = trajectoryFiles(this.folder);
    if (files.every(({ file }) => lines.has(file))) return files.flatMap(({ file }) => lines.get(file) ?? []);
    const names = files.map(({ file }) => file).join("\n");
    if (this.#rebuilt?.files !== names) this.#rebuilt = { files: names, lines: readIndex(this.folder) };
    return this.#rebuilt.lines;
  }

  trajectory({ line, at }: IndexPosition): Trajectory {
    return this.#trajectories.read(line, at);
  }

  /** The stored text of a trajectory, for a search. */
  line({ line, at }: IndexPosition): string {
    return this.#trajectories.line(line, at);
  }

  all(line: IndexLine): Trajectory[] {
    return [...line.id.keys()].map((at) => this.trajectory({ line, at }));
  }

  creditSteps(): number[] {
    return finishedNames(layout.creditFolder(this.folder))
      .filter((name) => name.endsWith("-turns.parquet"))
      .map(stepOf)
      .filter((step) => step !== undefined);
  }

  /** Credits of a step; those of the steps that were asked last are kept. */
  credits(step: number): Promise<RecordedCredit[] | undefined> {
    const known = this.#credits.get(step);
    if (known !== undefined) return known;
    const read = readCredits(this.folder, step);
    this.#credits.set(step, read);
    read.then(
      (credits) => credits === undefined && this.#credits.delete(step),
      () => this.#credits.delete(step),
    );
    const oldest = this.#credits.keys().next().value;
    if (this.#credits.size > 4 && oldest !== undefined) this.#credits.delete(oldest);
    return read;
  }

  /** Text of tokens; their numbers where the run has no tokenizer. */
  texts(): TokenTexts {
    if (this.#texts !== undefined) return this.#texts;
    const folder = tokenizerFolder(this.folder);
    const texts = new TokenTexts(folder === undefined ? undefined : loadTokenizer(folder));
    if (folder !== undefined) this.#texts = texts;
    return texts;
  }
}

/** The runs below a folder, by the names of their folders. */
export class RunSources {
  readonly root: string;
  readonly #known = new Map<string, { readonly source: RunSource; readonly changed: number }>();

  constructor(root: string) {
    this.root = resolve(root);
  }

  /** Undefined where there is no run of that name: a name is looked up, never joined to a path. */
  find(id: string): RunSource | undefined {
    return this.ids().includes(id) ? this.open(id) : undefined;
  }

  /** Names of the folders with a run; of the root itself where it is one. */
  ids(): string[] {
    if (existsSync(layout.run(this.root))) return [basename(this.root)];
    if (!existsSync(this.root)) return [];
    return readdirSync(this.root, { withFileTypes: true })
      .filter(
        (entry) => entry.isDirectory() && !entry.name.startsWith(".") && existsSync(layout.run(join(this.root, entry.name))),
      )
      .map(({ name }) => name);
  }

  folder(id: string): string {
    return existsSync(layout.run(this.root)) ? this.root : join(this.root, id);
  }

  /** @param id one of `ids` @throws RunError for a damaged run */
  open(id: string): RunSource {
    const folder = this.folder(id);
    // Where the file is gone since it was listed, the run says so.
    const changed = lstatSync(layout.run(folder), { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN;
    const known = this.#known.get(id);
    if (known?.changed === changed) return known.source;
    const source = new RunSource(id, folder);
    this.#known.set(id, { source, changed });
    return source;
  }
}
