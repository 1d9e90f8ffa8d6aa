import { isUtf8 } from "node:buffer";
import { parquetMetadata, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { z } from "zod";
import { reasonOf, ToolError } from "../core/errors.ts";
import { gunzipBounded, readBounded, utf8Of } from "../files/bounded.ts";

/** They are read whole. */
const largestFile = 2 ** 31;

/** A record of a file, and where it stands there: for messages. */
export interface FileRecord {
  readonly value: unknown;
  readonly where: string;
}

const isExact = (value: number) => !Number.isInteger(value) || Number.isSafeInteger(value);

/** A text, or a number as one. A whole number of JSON beyond 2^53 is refused: its last digits are lost by then. */
export const textOrNumber = z
  .union([z.string(), z.number().refine(isExact, "a whole number beyond 2^53 as a text"), z.bigint()])
  .transform(String);

/** A file of records that has been opened. */
export interface RecordFile {
  readonly count: number;
  /** The columns, where the file has a table of them. */
  readonly columns?: readonly string[];
  /** Those that are there without waiting: of all but Parquet files. */
  readonly records?: readonly FileRecord[];
  read(): Promise<readonly FileRecord[]>;
}

/**
 * Opens a `.jsonl`, `.jsonl.gz` or `.parquet` file.
 * @param only the columns of a Parquet file that are read. Default all
 * @throws ToolError where there is none, or its content is something else
 */
export function openRecords(path: string, only?: readonly string[]): RecordFile {
  const expected = "a .jsonl, .jsonl.gz or .parquet file";
  if (!/\.(jsonl|jsonl\.gz|parquet)$/.test(path)) throw new ToolError("data file", path, { expected });
  const bytes = attempt(path, expected, () => readBounded(path, largestFile));
  if (path.endsWith(".parquet")) return parquetFile(path, bytes, only);
  const text = attempt(path, path.endsWith(".gz") ? "a gzipped file" : "a file of text", () =>
    utf8Of(path.endsWith(".gz") ? gunzipBounded(bytes) : bytes),
  );
  const records = text.split("\n").flatMap((line, index) => {
    const where = `${path}:${index + 1}`;
    return line.trim() === "" ? [] : [{ where, value: attempt(where, "a JSON object", (): unknown => JSON.parse(line)) }];
  });
  return { count: records.length, records, read: async () => records };
}

function parquetFile(path: string, bytes: Buffer, only: readonly string[] | undefined): RecordFile {
  const file = new Uint8Array(bytes).buffer;
  const metadata = attempt(path, "a Parquet file", () => parquetMetadata(file));
  const all = parquetSchema(metadata).children.map(({ element }) => element.name);
  const columns = only === undefined ? undefined : all.filter((name) => only.includes(name));
  return {
    count: Number(metadata.num_rows),
    columns: all,
    read: async () => {
      const options = { file, metadata, compressors, parsers: { stringFromBytes } };
      const rows = await parquetReadObjects({ ...options, ...(columns && { columns }) }).catch((cause: unknown) => {
        throw new ToolError("data file", path, { expected: "a Parquet file", hint: reasonOf(cause), cause });
      });
      return rows.map((value, index) => ({ value, where: `${path}, row ${index}` }));
    },
  };
}

/** Columns of bytes may be texts, and need not be. */
function stringFromBytes(bytes: Uint8Array | undefined): unknown {
  return bytes !== undefined && isUtf8(bytes) ? utf8Of(bytes) : bytes;
}

function attempt<T>(where: string, expected: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    throw new ToolError("data file", where, { expected, hint: reasonOf(cause), cause });
  }
}
