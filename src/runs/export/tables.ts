import { parquetWriteBuffer } from "hyparquet-writer";
import { entryAt, filterIndex } from "../filter.ts";
import { readIndex } from "../index-file.ts";
import { readMetrics, readTimings } from "../read.ts";

/** A table to be exported: the same columns in every row. */
export interface Table {
  readonly columns: readonly string[];
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
    columns: ["step", ...metrics, ...times],
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

/** One row a trajectory, as the index has it. */
export function trajectoryTable(folder: string): Table {
  const columns = [
    "id",
    "source",
    "split",
    "step",
    "task",
    "kind",
    "group",
    "stop",
    "reward",
    "success",
    "turns",
    "tokens",
    "toolCalls",
    "entropy",
  ] as const;
  const entries = filterIndex(readIndex(folder), {}).map(entryAt);
  return { columns, rows: entries.map((entry) => columns.map((name) => entry[name] ?? null)) };
}

/** RFC 4180: fields with a comma, a quote or a line break are quoted. A text that a spreadsheet would take for a formula gets an apostrophe. */
export function asCsv({ columns, rows }: Table): string {
  const field = (value: string | number | boolean | null) => {
    if (value === null) return "";
    if (typeof value !== "string") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/** One JSON object a line. */
export function asJsonl({ columns, rows }: Table): string {
  return rows.map((row) => `${JSON.stringify(Object.fromEntries(columns.map((name, i) => [name, row[i]])))}\n`).join("");
}

export function asParquet({ columns, rows }: Table): Uint8Array {
  const columnData = columns.map((name, i) => {
    const values = rows.map((row) => row[i] ?? null);
    const known = values.find((value) => value !== null);
    const type = typeof known === "string" ? "STRING" : typeof known === "boolean" ? "BOOLEAN" : "DOUBLE";
    return { name, data: values, type, nullable: true } as const;
  });
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}
