import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";

/** What the runner is given. */
export const openSchema = z.object({
  /** Where to write. */
  out: z.string(),
  /** Seconds of tests for a mutant. */
  budget: z.number(),
  /** The mutants of the sample. */
  ids: z.array(z.string()),
});

/** What the runner writes: a test that ran, and the beginning and the end of a test with a mutant. */
export const lineSchema = z.discriminatedUnion("event", [
  z.object({
    event: z.literal("test"),
    file: z.string(),
    name: z.string(),
    /** Processor time without a mutant. */
    seconds: z.number(),
    /** Mutants whose places it passes; `loaded` are those that are passed while files are loaded, or in hooks. */
    ids: z.array(z.string()),
    loaded: z.array(z.string()),
  }),
  z.object({ event: z.literal("begin"), id: z.string(), file: z.string(), name: z.string() }),
  z.object({
    event: z.literal("end"),
    id: z.string(),
    file: z.string(),
    name: z.string(),
    result: z.enum(["survived", "killed", "unclear"]),
    seconds: z.number(),
  }),
  /** Every test of a file has run. The caller writes it where the file's process does not end. */
  z.object({ event: z.literal("file"), file: z.string() }),
]);

export type Line = z.output<typeof lineSchema>;

/** A mutant and a test. */
export const trialOf = ({ id, file, name }: { readonly id: string; readonly file: string; readonly name: string }) =>
  `${id} ${file} ${name}`;

export function readLines(file: string): Line[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => lineSchema.parse(JSON.parse(line)));
}

/** The mutants that are neither killed nor unclear, with the seconds of tests that they survived. */
export function standing(lines: readonly Line[], ids: readonly string[]): Map<string, number> {
  const spent = new Map(ids.map((id) => [id, 0]));
  for (const line of lines) {
    if (line.event !== "end") continue;
    const before = spent.get(line.id);
    if (line.result === "survived" && before !== undefined) spent.set(line.id, before + line.seconds);
    else spent.delete(line.id);
  }
  for (const id of unfinished(lines)) spent.delete(id);
  return spent;
}

/** Mutants with which a test began and its process died. */
export function unfinished(lines: readonly Line[]): Set<string> {
  const ended = new Set(lines.flatMap((line) => (line.event === "end" ? [trialOf(line)] : [])));
  return new Set(lines.flatMap((line) => (line.event === "begin" && !ended.has(trialOf(line)) ? [line.id] : [])));
}
