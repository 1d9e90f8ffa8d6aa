import { existsSync } from "node:fs";
import { crc32 } from "node:zlib";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { z } from "zod";
import { RunError } from "../../src/core/errors.ts";
import { hexOf, type TurnCredit, unknownChecksum } from "../../src/runs/credits.ts";
import { readRunFile } from "../../src/runs/files.ts";
import { layout } from "../../src/runs/layout.ts";
import { damaged } from "../../src/runs/read.ts";
import { requireKnownVersion } from "../../src/runs/schema.ts";

/** True if a file has the checksum that its metadata names. */
function isAsWritten(bytes: Buffer, checksum: string): boolean {
  const copy = Buffer.from(bytes);
  const at = copy.lastIndexOf(checksum);
  copy.write(unknownChecksum, at, "latin1");
  return at >= 0 && hexOf(crc32(copy)) === checksum;
}

/** One update of a turn, as it is read back. NaN where nothing was computed. */
export interface RecordedCredit extends Required<Omit<TurnCredit, "old">> {
  /**
   * The update's learning rate as a share of the largest of the step. SeeUPO updates a late turn that few episodes reach with large weights and
   * a small rate, so weights of different updates add up only once each is multiplied by its share.
   */
  readonly rateShare: number;
  readonly ratios: readonly number[];
  /** The ratio of the turn. */
  readonly ratio: number;
}

const computed = z.number().or(z.nan());
const place = { optimiser_step: z.number(), trajectory: z.string(), turn: z.number(), weight: computed, ratio: computed };
const tokenRowSchema = z.object({
  ...place,
  token: z.number(),
  logprob_before: computed,
  logprob_after: computed,
  logprob_end: computed,
});
const turnRowSchema = z.object({
  ...place,
  tokens: z.number(),
  advantage: computed,
  factor: computed,
  learning_rate: computed,
});

/** The largest buffer that a file is read into. */
const largestTable = 2 ** 31 - 1;

/**
 * Reads the credits of a step. Undefined where it has none: recorded without them, or not yet written.
 * @throws RunError for a damaged file, or one of a newer version
 */
export async function readCredits(folder: string, step: number): Promise<RecordedCredit[] | undefined> {
  const [tokenPath, turnPath] = [layout.tokenCredits(folder, step), layout.turnCredits(folder, step)];
  if (!existsSync(tokenPath) || !existsSync(turnPath)) return undefined;
  const turns = (await readRows(turnPath)).map((row) => parsed(turnPath, turnRowSchema, row));
  const tokens = await readRows(tokenPath);
  const largestRate = turns.reduce((most, { learning_rate }) => Math.max(most, learning_rate), 0);
  let at = 0;
  return turns.map((row) => {
    // Rows of tokens are in the order of the turns; the first of each turn is checked to belong to it.
    const own = tokens.slice(at, (at += row.tokens));
    const first = own[0] === undefined ? row : parsed(tokenPath, tokenRowSchema, own[0]);
    if (own.length !== row.tokens || first.trajectory !== row.trajectory || first.turn !== row.turn)
      throw new RunError(tokenPath, "of other turns than the file beside it", { expected: "the tokens of each turn, in order" });
    const column = (name: keyof z.infer<typeof tokenRowSchema>) => own.map((token) => Number(token[name]));
    return {
      optimiserStep: row.optimiser_step,
      trajectory: row.trajectory,
      turn: row.turn,
      advantage: row.advantage,
      factor: row.factor,
      learningRate: row.learning_rate,
      rateShare: largestRate > 0 ? row.learning_rate / largestRate : 1,
      ratio: row.ratio,
      weights: column("weight"),
      before: column("logprob_before"),
      after: column("logprob_after"),
      end: column("logprob_end"),
      ratios: column("ratio"),
    };
  });
}

async function readRows(path: string): Promise<Record<string, unknown>[]> {
  try {
    const bytes = readRunFile(path, largestTable);
    const file = new Uint8Array(bytes).buffer;
    const metadata = parquetMetadata(file);
    const entry = (name: string) => metadata.key_value_metadata?.find(({ key }) => key === name)?.value;
    const checksum = entry("retrograde.crc32");
    if (checksum !== undefined && !isAsWritten(bytes, checksum))
      throw new Error("it has another checksum than when it was written");
    const version = entry("retrograde.schema");
    requireKnownVersion(path, { schema: version === undefined ? 1 : Number(version) });
    return await parquetReadObjects({ file, metadata });
  } catch (cause) {
    throw damaged(path, cause);
  }
}

function parsed<Schema extends z.ZodType>(path: string, schema: Schema, row: unknown): z.output<Schema> {
  const result = schema.safeParse(row);
  if (result.success) return result.data;
  throw damaged(path, result.error);
}
