import { z } from "zod";

/** What the runner is given. */
export const openSchema = z.object({
  /** Where to write. */
  out: z.string(),
  /** Seconds of tests for a mutant. */
  budget: z.number(),
  /** The mutants that are not killed yet, with the seconds of tests that they survived. */
  open: z.record(z.string(), z.number()),
  /** Trials that have ended, by `trialOf`. */
  done: z.array(z.string()),
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
  /** Written by the caller: every test of a file has run. */
  z.object({ event: z.literal("file"), file: z.string() }),
]);

export type Line = z.output<typeof lineSchema>;

/** A mutant and a test. */
export const trialOf = ({ id, file, name }: { readonly id: string; readonly file: string; readonly name: string }) =>
  `${id} ${file} ${name}`;
