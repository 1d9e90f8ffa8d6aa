import { parquetWriteBuffer } from "hyparquet-writer";
import { readMetrics, readTimings } from "../../../src/runs/read.ts";
import { entryAt, filterIndex } from "../filter.ts";
import { readIndex } from "../read-index.ts";

/** A type of Parquet. It depends on the column and never on its values, so that the tables of many runs are read as one. */
type ColumnType = "STRING" | "BOOLEAN" | "INT32" | "DOUBLE";

/** A table to be exported: the same columns in every row. */
export interface Table {
  readonly columns: readonly (readonly [name: string, type: ColumnType])[];
  readonly rows: readonly (readonly (string | number | boolean | null)[])[];
}

/** One row a step: every metric, then what differs from machine to machine. */
export function stepTable(folder: string): Table {
  const steps = readMetrics(folder);
  const timings = new Map(readTimings(folder).map((timing) => [timing.step, timing]));
  const metrics = [...new Set(steps.flatMap((record) => Object.keys(record.metrics)))];
  const times = [...new Set([...timings.values()].flatMap(Object.keys))].filter(
    (name) => name !== "step" && name !== "metricsCrc32",
  );
  return {
    columns: [["step", "INT32"], ...[...metrics, ...times].map((name) => [name, "DOUBLE"] as const)],
    rows: steps.map((record) => {
      const timing = new Map(Object.entries(timings.get(record.step) ?? {}));
      return [
        record.step,
        ...metrics.map((name) => record.metrics[name] ?? null),
        ...times.map((name) => timing.get(name) ?? null),
      ];
    }),
  };
}

const trajectoryColumns = [
  ["id", "STRING"],
  ["source", "STRING"],
  ["split", "STRING"],
  ["step", "INT32"],
  ["task", "STRING"],
  ["kind", "STRING"],
  ["group", "STRING"],
  ["stop", "STRING"],
  ["reward", "DOUBLE"],
  ["success", "BOOLEAN"],
  ["turns", "INT32"],
  ["tokens", "INT32"],
  ["toolCalls", "INT32"],
  ["entropy", "DOUBLE"],
] as const;

export function trajectoryTable(folder: string): Table {
  const entries = filterIndex(readIndex(folder), {}).map(entryAt);
  return { columns: trajectoryColumns, rows: entries.map((entry) => trajectoryColumns.map(([name]) => entry[name] ?? null)) };
}

/** RFC 4180: fields with a comma, a quote or a line break are quoted. A text that a spreadsheet would take for a formula gets an apostrophe. */
export function asCsv({ columns, rows }: Table): string {
  const field = (value: string | number | boolean | null) => {
    if (value === null) return "";
    if (typeof value !== "string") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns.map(([name]) => name), ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

export function asParquet({ columns, rows }: Table): Uint8Array {
  const columnData = columns.map(([name, type], i) => ({ name, type, data: rows.map((row) => row[i] ?? null), nullable: true }));
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}
