import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { appendLine, appendRecord, readRunFile } from "../../src/runs/files.ts";
import { unsealed } from "../../src/runs/seal.ts";

/** The cost of questions. Tokens as the server counted them; a quarter of the characters where it does not say. */
export interface Usage {
  /** Requests for an answer. Those that were repeated because of 429 or a broken connection count once. */
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export const noUsage: Usage = { calls: 0, promptTokens: 0, completionTokens: 0 };

export function added(a: Usage, b: Usage): Usage {
  return {
    calls: a.calls + b.calls,
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
  };
}

const entrySchema = z.object({
  key: z.string(),
  /** The group that it was asked for first. */
  group: z.string(),
  calls: z.int(),
  promptTokens: z.number(),
  completionTokens: z.number(),
  /** In the order in which the attempts were shown. Absent where there was no usable answer. */
  scores: z.array(z.number()).optional(),
  explanations: z.array(z.string()).optional(),
  problem: z.string().optional(),
});
export type LedgerEntry = z.output<typeof entrySchema>;

/**
 * Answers and what they cost, a line each in a file that is only added to: a run that continues where it was killed asks nothing
 * twice, and knows what it has spent. The file is read when it is first needed.
 */
export class Ledger {
  readonly #path: string;
  #answers: Map<string, LedgerEntry> | undefined;
  #spent: Usage = noUsage;

  constructor(path: string) {
    this.#path = path;
  }

  find(key: string): LedgerEntry | undefined {
    return this.#read().get(key);
  }

  /** By all questions of the file, those without a usable answer too. */
  get spent(): Usage {
    this.#read();
    return this.#spent;
  }

  add(entry: LedgerEntry): void {
    const answers = this.#read();
    mkdirSync(dirname(this.#path), { recursive: true });
    appendRecord(this.#path, entry);
    this.#keep(answers, entry);
  }

  #read(): Map<string, LedgerEntry> {
    if (this.#answers !== undefined) return this.#answers;
    const answers = new Map<string, LedgerEntry>();
    const text = existsSync(this.#path) ? readRunFile(this.#path).toString("utf8") : "";
    // Half a line is what a kill leaves; it must not run into the next one.
    if (text !== "" && !text.endsWith("\n")) appendLine(this.#path, "");
    for (const line of text.split("\n")) {
      const entry = entrySchema.safeParse(jsonOf(line));
      if (entry.success) this.#keep(answers, entry.data);
    }
    this.#answers = answers;
    return answers;
  }

  #keep(answers: Map<string, LedgerEntry>, entry: LedgerEntry): void {
    this.#spent = added(this.#spent, entry);
    if (entry.scores !== undefined) answers.set(entry.key, entry);
  }
}

/** Parses a line. Undefined for a damaged one, whose question is asked again. */
function jsonOf(line: string): unknown {
  try {
    return unsealed(line);
  } catch {
    return undefined;
  }
}
