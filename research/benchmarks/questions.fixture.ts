import "../install.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const folder = mkdtempSync(join(tmpdir(), "questions-"));

export const path = (name: string) => join(folder, name);
export const write = (name: string, content: string | Uint8Array) => {
  writeFileSync(path(name), content);
  return path(name);
};
export const jsonl = (name: string, ...rows: unknown[]) => write(name, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));

export const questions = jsonl("questions.jsonl", { question: "Who, then?", answer: "a" }, { question: "When?", answer: "b" });
