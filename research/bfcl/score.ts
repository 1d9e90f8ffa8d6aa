import { EnvError } from "../../src/core/errors.ts";
import type { Evaluator } from "./evaluator/evaluator.ts";
import type { JsonRecord } from "./records.ts";
import { type BfclTask, type Category, categories } from "./tasks.ts";
import { unpassable } from "./unpassable.ts";
import { checkTask, type ModelTurns, type Verdict } from "./verdict.ts";

export interface ScoredRecord {
  readonly id: string;
  readonly task_id: string;
  readonly kind?: string;
  readonly verdict: Verdict;
}

/** Scores records one after the other, and remembers ids so that no record counts twice. */
export class Scorer {
  readonly scored: ScoredRecord[] = [];
  private readonly seen = new Set<string>();
  private readonly evaluator: Evaluator;
  private readonly taskOf: (id: string) => BfclTask;

  constructor(evaluator: Evaluator, taskOf: (id: string) => BfclTask) {
    this.evaluator = evaluator;
    this.taskOf = taskOf;
  }

  /**
   * The checker's verdict on a prediction: `task_id` (or `id`), and `model_turns`, turns of steps of call texts.
   * @throws EnvError naming line and field; for an unknown task or an id that was there before
   */
  async score(record: JsonRecord): Promise<ScoredRecord> {
    const taskId = record.optionalText("task_id") ?? record.text("id");
    const id = record.optionalText("id") ?? taskId;
    if (this.seen.has(id)) throw record.wrong("id", id, "an id that no earlier line has", "Each prediction is scored once.");
    this.seen.add(id);
    const task = this.taskAt(record, taskId);
    const kind = record.optionalText("kind");
    const { verdict } = await checkTask(this.evaluator, task, readTurns(record));
    const scored = { id, ...(kind === undefined ? {} : { kind }), task_id: taskId, verdict };
    this.scored.push(scored);
    return scored;
  }

  private taskAt(record: JsonRecord, id: string): BfclTask {
    try {
      return this.taskOf(id);
    } catch (error) {
      if (!(error instanceof EnvError) || error.subject !== "task id") throw error;
      throw record.wrong("task_id", id, String(error.expected), error.hint);
    }
  }
}

/** Turns of steps. Undefined if there is no list of turns, which the checker calls an inference error. */
function readTurns(record: JsonRecord): ModelTurns | undefined {
  const turns = record.value.model_turns;
  if (turns === undefined) throw record.wrong("model_turns", undefined, "a list of turns, each a list of steps of call texts");
  if (!Array.isArray(turns)) return undefined;
  return turns.map((turn, i) => {
    if (!Array.isArray(turn)) throw record.wrong(`model_turns[${i}]`, turn, "a list of steps");
    return turn.map((step, j) => readStep(record, step, `model_turns[${i}][${j}]`));
  });
}

function readStep(record: JsonRecord, step: unknown, where: string): string | string[] {
  if (typeof step === "string") return step;
  if (!Array.isArray(step)) throw record.wrong(where, step, "a list of call texts, or a text for an answer without calls");
  return step.map((call, k) => {
    if (typeof call !== "string") throw record.wrong(`${where}[${k}]`, call, 'a text such as "ls(a=True)"');
    return call;
  });
}

export interface CategoryScore {
  readonly category: Category;
  /** Over the predictions that were given. */
  readonly all: Share;
  /** Without tasks whose published answer cannot be reached. */
  readonly passable: Share;
}

export interface Share {
  readonly passed: number;
  readonly total: number;
}

/** The two scores of each category that occurs. */
export function categoryScores(scored: readonly ScoredRecord[]): CategoryScore[] {
  return categories.flatMap((category) => {
    const own = scored.filter(({ task_id }) => task_id.startsWith(`multi_turn_${category}_`));
    if (own.length === 0) return [];
    return [{ category, all: share(own), passable: share(own.filter(({ task_id }) => !unpassable.has(task_id))) }];
  });
}

function share(scored: readonly ScoredRecord[]): Share {
  return { passed: scored.filter(({ verdict }) => verdict.valid).length, total: scored.length };
}
