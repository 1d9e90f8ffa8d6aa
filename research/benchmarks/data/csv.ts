import { readFileSync } from "node:fs";
import { attempt, type FileRecord } from "../../../extensions/tools/records.ts";
import { ToolError } from "../../../src/core/errors.ts";
import { utf8Of } from "../../../src/files/bounded.ts";

/** Reads a CSV file with a header (RFC 4180): quoted fields may hold commas, line breaks and doubled quotes. */
export function readCsv(path: string): readonly FileRecord[] {
  const [header = [], ...rows] = rowsOf(attempt(path, "a CSV file", () => utf8Of(readFileSync(path))));
  return rows.map((row, index) => {
    const where = `${path}, row ${index}`;
    if (row.length !== header.length)
      throw new ToolError("data file", where, { expected: `${header.length} fields, as the header has: it has ${row.length}` });
    return { where, value: Object.fromEntries(header.map((name, i) => [name, row[i]])) };
  });
}

function rowsOf(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  while (field.lastIndex < text.length) {
    const match = field.exec(text);
    if (match === null) throw new ToolError("data file", text.slice(0, 40), { expected: "a CSV file" });
    const [, quoted, plain = "", end] = match;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    // A comma at the end of the file is followed by a last field, which is empty.
    if (end === "," && field.lastIndex < text.length) continue;
    if (end === ",") row.push("");
    rows.push(row);
    row = [];
  }
  return rows;
}
