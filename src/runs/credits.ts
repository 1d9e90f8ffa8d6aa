import { crc32 } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";
import { writeFileLater } from "./files.ts";
import { layout } from "./layout.ts";
import { schemaVersion } from "./schema.ts";

/** The effect of one optimiser step on one turn. */
export interface TurnCredit {
  /** Optimiser steps of the update are numbered from 0. */
  readonly optimiserStep: number;
  readonly trajectory: string;
  /** From 0. */
  readonly turn: number;
  /** Â, mean over the turn's tokens. Undefined where the algorithm names none. */
  readonly advantage?: number;
  /** SeeUPO's M, which multiplied the advantage. */
  readonly factor?: number;
  readonly learningRate: number;
  /** w of the objective Σ w·log π that the step climbed, one per action token. */
  readonly weights: readonly number[];
  /** log π of the action tokens at the step's gradient. */
  readonly before: readonly number[];
  /** log π when the update began, or at the turn's first update: what the ratio is taken against. */
  readonly old: readonly number[];
  /** log π once the step was taken. Undefined where nothing computed it. */
  readonly after?: readonly number[];
  /** log π once the whole update was made, of the turn's last update. Undefined where nothing computed it. */
  readonly end?: readonly number[];
}

/**
 * The credits of a step as two Parquet files, one row a token and one row a turn, for each update. Log-probs are natural logs; what was not
 * computed is NaN. Both have the schema version in their metadata.
 */
export function encodeCredits(credits: readonly TurnCredit[]): { readonly tokens: Uint8Array; readonly turns: Uint8Array } {
  const rows = credits.reduce((sum, { weights }) => sum + weights.length, 0);
  const float = () => new Float32Array(rows);
  const [weight, before, after, end, ratio] = [float(), float(), float(), float(), float()];
  const [optimiserStep, turn, token] = [new Int32Array(rows), new Int32Array(rows), new Int32Array(rows)];
  const trajectory: string[] = new Array(rows);
  let row = 0;
  for (const credit of credits)
    for (const [t, own] of credit.weights.entries()) {
      optimiserStep[row] = credit.optimiserStep;
      trajectory[row] = credit.trajectory;
      turn[row] = credit.turn;
      token[row] = t;
      weight[row] = own;
      before[row] = Number(credit.before[t]);
      after[row] = credit.after?.[t] ?? Number.NaN;
      end[row] = credit.end?.[t] ?? Number.NaN;
      ratio[row] = Math.exp(Number(credit.before[t]) - Number(credit.old[t]));
      row++;
    }
  const of = <T>(value: (credit: TurnCredit) => T) => credits.map(value);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    tokens: parquet([
      { name: "optimiser_step", data: optimiserStep, type: "INT32" },
      { name: "trajectory", data: trajectory, type: "STRING" },
      { name: "turn", data: turn, type: "INT32" },
      { name: "token", data: token, type: "INT32" },
      { name: "weight", data: weight, type: "FLOAT" },
      { name: "logprob_before", data: before, type: "FLOAT" },
      { name: "logprob_after", data: after, type: "FLOAT" },
      { name: "logprob_end", data: end, type: "FLOAT" },
      { name: "ratio", data: ratio, type: "FLOAT" },
    ]),
    turns: parquet([
      { name: "optimiser_step", data: Int32Array.from(of((credit) => credit.optimiserStep)), type: "INT32" },
      { name: "trajectory", data: of((credit) => credit.trajectory), type: "STRING" },
      { name: "turn", data: Int32Array.from(of((credit) => credit.turn)), type: "INT32" },
      { name: "tokens", data: Int32Array.from(of(({ weights }) => weights.length)), type: "INT32" },
      { name: "advantage", data: Float32Array.from(of((credit) => credit.advantage ?? Number.NaN)), type: "FLOAT" },
      { name: "factor", data: Float32Array.from(of((credit) => credit.factor ?? Number.NaN)), type: "FLOAT" },
      { name: "ratio", data: Float32Array.from(of(turnRatioOf)), type: "FLOAT" },
      { name: "weight", data: Float32Array.from(of(({ weights }) => sum(weights))), type: "FLOAT" },
      { name: "learning_rate", data: Float32Array.from(of((credit) => credit.learningRate)), type: "FLOAT" },
    ]),
  };
}

/** exp of the mean log-ratio of a turn at its gradient. */
function turnRatioOf({ before, old }: TurnCredit): number {
  const sum = before.reduce((total, logprob, t) => total + logprob - Number(old[t]), 0);
  return before.length === 0 ? 1 : Math.exp(sum / before.length);
}

type Columns = Parameters<typeof parquetWriteBuffer>[0]["columnData"];

function parquet(columnData: Columns): Uint8Array {
  const kvMetadata = [
    { key: "retrograde.schema", value: String(schemaVersion) },
    { key: "retrograde.crc32", value: unknownChecksum },
  ];
  const columns = columnData.map((column) => ({ ...column, nullable: false }));
  const written = parquetWriteBuffer({ columnData: columns, kvMetadata, codec: "UNCOMPRESSED", statistics: false });
  const bytes = Buffer.from(written);
  bytes.write(hexOf(crc32(bytes)), bytes.lastIndexOf(unknownChecksum), "latin1");
  return bytes;
}

/**
 * Parquet's own checksums are of pages, which leaves the rest open. The file's CRC-32 is in its metadata: of the whole file, with this
 * instead of it.
 */
export const unknownChecksum = "00000000";

export function hexOf(checksum: number): string {
  return checksum.toString(16).padStart(unknownChecksum.length, "0");
}

/**
 * Writes credits beside the training: what touches the disk is done by the thread pool of Node while the next step runs. A file
 * that could not be written is an error of the next call.
 */
export class CreditWriter {
  readonly #folder: string;
  #writing: Promise<void> = Promise.resolve();
  #failed: unknown;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @throws RunError where an earlier file could not be written */
  write(step: number, credits: readonly TurnCredit[]): void {
    this.#check();
    const { tokens, turns } = encodeCredits(credits);
    this.#writing = this.#writing
      .then(async () => {
        await writeFileLater(layout.tokenCredits(this.#folder, step), tokens);
        await writeFileLater(layout.turnCredits(this.#folder, step), turns);
      })
      .catch((error: unknown) => {
        this.#failed ??= error;
      });
  }

  /** Waits until all is written. @throws RunError where a file could not be written */
  async flush(): Promise<void> {
    await this.#writing;
    this.#check();
  }

  #check(): void {
    if (this.#failed !== undefined) throw this.#failed;
  }
}
