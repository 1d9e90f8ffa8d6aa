import { z } from "zod";
import { ConfigError } from "../../../src/core/errors.ts";
import { parseJson } from "../../../src/core/json.ts";
import { readBounded } from "../../../src/files/bounded.ts";

export type Row = Readonly<Record<string, unknown>>;
/** JavaScript has no longer texts. */
const largestFile = 512 * 2 ** 20;
const rowSchema = z.record(z.string(), z.unknown());

/**
 * Reads tasks that the client brings, one JSON object in each line, by their split.
 * @throws ConfigError naming file and line
 */
export function readRows(files: Readonly<Record<string, string>>): ReadonlyMap<string, readonly Row[]> {
  return new Map(Object.entries(files).map(([split, file]) => [split, readFile(file, `environment.settings.tasks.${split}`)]));
}

function readFile(file: string, setting: string): Row[] {
  let text: string;
  try {
    text = readBounded(file, largestFile).toString("utf8");
  } catch (cause) {
    throw new ConfigError(setting, file, {
      expected: "a file of tasks in JSONL",
      hint: "docs/environments/remote.md says where such files are from.",
      cause,
    });
  }
  return text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    const where = `${setting}, ${file} line ${i + 1}`;
    return [
      parseJson(line, rowSchema, (_, cause) => new ConfigError(where, line.slice(0, 80), { expected: "a JSON object", cause })),
    ];
  });
}
