import { z } from "zod";
import { type Evaluator, SessionOver } from "./evaluator/evaluator.ts";
import type { BfclTask } from "./tasks.ts";

/** A model's actions in a task: turns of steps of calls. A step that is a text is an answer that could not be decoded. */
export type ModelTurns = readonly (readonly (string | readonly string[])[])[];

export interface Verdict {
  readonly valid: boolean;
  readonly error_type: string | null;
  readonly error_message: string | null;
  /** The attributes that differ, of the first class whose state differs. */
  readonly differing_attributes?: readonly string[];
  /** Results of the ground truth that the model did not get. */
  readonly missing_items?: readonly string[];
}

const checkedSchema = z.strictObject({
  verdict: z.strictObject({
    valid: z.boolean(),
    error_type: z.string().nullable(),
    error_message: z.string().nullable(),
    differing_attributes: z.array(z.string()).optional(),
    missing_items: z.array(z.string()).optional(),
  }),
  passed: z.int(),
});

/** The verdict on a task, and how many of its checked turns passed before the first that did not. */
export interface Checked {
  readonly verdict: Verdict;
  readonly passed: number;
}

function invalid(kind: string, message: string): Checked {
  return { verdict: { valid: false, error_type: `multi_turn:${kind}`, error_message: message }, passed: 0 };
}

/**
 * The official verdict on a task: in every turn that has a ground truth, the model's instances must have the state of the ground truth's,
 * and all results of the ground truth must be among the model's results so far. The calls are made once more for it, on fresh instances.
 * @param turns undefined if the model gave no list of turns; fewer than the task has where the turns so far are checked alone
 * @throws ConfigError or EnvError if the evaluator does not run
 */
export async function checkTurns(evaluator: Evaluator, task: BfclTask, turns: ModelTurns): Promise<Checked> {
  const decoded = turns.slice(0, task.groundTruth.length).map((steps) => steps.filter(isDecoded));
  try {
    const ran = await evaluator.execute({ op: "rerun", record: task.record, turns: decoded.map((steps) => steps.flat()) });
    const given = z.array(z.strictObject({ results: z.array(z.string()), state: z.record(z.string(), z.unknown()) })).parse(ran);
    const answered = given.map((turn, i) => ({ ...turn, answered: (decoded[i]?.length ?? 0) > 0 }));
    return checkedSchema.parse(
      await evaluator.judge({ op: "check", record: task.record, answer: task.groundTruth, turns: answered }),
    );
  } catch (error) {
    if (error instanceof SessionOver) return invalid("inference_error", `The calls did not end: ${error.message}.`);
    throw error;
  }
}

/** `checkTurns` of a whole task: with the harness's own verdicts on turns that are missing. */
export async function checkTask(evaluator: Evaluator, task: BfclTask, turns: ModelTurns | undefined): Promise<Checked> {
  const { groundTruth } = task;
  if (turns === undefined)
    return invalid("inference_error", "Error during inference phase. Model did not output a list of model responses.");
  const checked = await checkTurns(evaluator, task, turns);
  if (turns.length === groundTruth.length) return checked;
  const { verdict } = invalid(
    "force_terminated",
    `Model was force-terminated during inference phase. The length of the model result turns (${turns.length}) does not match the length of the ground truth turns (${groundTruth.length}).`,
  );
  return { verdict, passed: checked.passed };
}

/** A step that is a list of calls: neither an undecodable answer nor an empty one. */
function isDecoded(step: string | readonly string[]): step is readonly string[] {
  return typeof step !== "string" && step.length > 0 && !(step.length === 1 && step[0] === "");
}
