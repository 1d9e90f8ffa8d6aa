import { isUtf8 } from "node:buffer";
import { parquetMetadata, parquetReadObjects, parquetSchema, type SchemaElement, type SchemaTree } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { z } from "zod";
import { reasonOf, ToolError } from "../../src/core/errors.ts";
import { gunzipBounded, readBounded, utf8Of } from "../../src/files/bounded.ts";

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
  const schema = parquetSchema(metadata);
  const all = schema.children.map(({ element }) => element.name);
  const hasDecimals = metadata.schema.some(isDecimal);
  const digits = { ...metadata, schema: metadata.schema.map((each) => (isDecimal(each) ? { ...each, scale: 0 } : each)) };
  const columns = only === undefined ? undefined : all.filter((name) => only.includes(name));
  return {
    count: Number(metadata.num_rows),
    columns: all,
    read: async () => {
      const options = { file, metadata: digits, compressors, parsers: { stringFromBytes } };
      const rows = await parquetReadObjects({ ...options, ...(columns && { columns }) }).catch((cause: unknown) => {
        throw new ToolError("data file", path, { expected: "a Parquet file", hint: reasonOf(cause), cause });
      });
      return rows.map((row, index) => ({ value: hasDecimals ? divided(row, schema) : row, where: `${path}, row ${index}` }));
    },
  };
}

const isDecimal = ({ converted_type: type }: SchemaElement) => type === "DECIMAL";

/** Divides the digits of decimals. hyparquet multiplies them by a power of ten that is no exact double: 7 × 0.1 is 0.7000000000000001. */
function divided(value: unknown, node: SchemaTree): unknown {
  const { element, children } = node;
  if (typeof value === "number" && isDecimal(element)) return value / 10 ** (element.scale ?? 0);
  // Lists and maps have a repeated node between themselves and what they hold.
  const [inner] = children;
  if (Array.isArray(value)) {
    const item = element.repetition_type === "REPEATED" ? node : (inner?.children[0] ?? node);
    return value.map((each) => divided(each, item));
  }
  if (value?.constructor !== Object) return value;
  const fields = new Map(children.map((child) => [child.element.name, child]));
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, divided(each, fields.get(name) ?? inner?.children[1] ?? node)]),
  );
}

/** Columns of bytes may be texts, and need not be. */
function stringFromBytes(bytes: Uint8Array | undefined): unknown {
  return bytes !== undefined && isUtf8(bytes) ? utf8Of(bytes) : bytes;
}

/** Does one thing with a data file. @throws ToolError with the place, what was expected and the reason */
export function attempt<T>(where: string, expected: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    throw new ToolError("data file", where, { expected, hint: reasonOf(cause), cause });
  }
}
