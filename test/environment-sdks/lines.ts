import { readFileSync } from "node:fs";

/** Objects of a file of JSON lines. */
export const linesOf = <T>(file: string): T[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as T);
