import { present } from "../../src/core/present.ts";
import { equal } from "../python/operators.ts";
import type { Value } from "../python/values.ts";
import { freshShared } from "./backends/shared.ts";
import { Session, type SessionStart } from "./session.ts";
import { publicNames } from "./state-text.ts";

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

export interface CheckedTask extends SessionStart {
  /** The calls of each turn. */
  readonly groundTruth: readonly (readonly string[])[];
}

const valid: Verdict = { valid: true, error_type: null, error_message: null };

function invalid(kind: string, message: string, details: Partial<Verdict> = {}): Verdict {
  return { valid: false, error_type: `multi_turn:${kind}`, error_message: message, ...details };
}

/**
 * The official verdict on a task: in every turn that has a ground truth, the model's instances must have the state of the ground truth's,
 * and all results of the ground truth must be among the model's results so far.
 * @param turns undefined if the model gave no list of turns
 */
export function checkTask(task: CheckedTask, turns: ModelTurns | undefined): Verdict {
  const { groundTruth } = task;
  if (turns === undefined)
    return invalid("inference_error", "Error during inference phase. Model did not output a list of model responses.");
  if (turns.length !== groundTruth.length)
    return invalid(
      "force_terminated",
      `Model was force-terminated during inference phase. The length of the model result turns (${turns.length}) does not match the length of the ground truth turns (${groundTruth.length}).`,
    );
  const check = new Check(task);
  for (const [turn, steps] of turns.entries()) {
    const verdict = check.turn(turn, steps.filter(isDecoded));
    if (verdict !== undefined) return verdict;
  }
  return valid;
}

/** The number of checked turns that passed before the first that did not. */
export function passedTurns(task: CheckedTask, turns: ModelTurns): number {
  const check = new Check(task);
  let passed = 0;
  for (const [turn, steps] of turns.slice(0, task.groundTruth.length).entries()) {
    if (check.turn(turn, steps.filter(isDecoded)) !== undefined) return passed;
    if (present(task.groundTruth[turn], "the ground truth of a turn").length > 0) passed++;
  }
  return passed;
}

/** A step that is a list of calls: neither an undecodable answer nor an empty one. */
function isDecoded(step: string | readonly string[]): step is readonly string[] {
  return typeof step !== "string" && step.length > 0 && !(step.length === 1 && step[0] === "");
}

/** Checks turn after turn, with a model and a ground truth that share what a process shares. */
export class Check {
  private readonly model: Session;
  private readonly truth: Session;
  private readonly groundTruth: CheckedTask["groundTruth"];
  /** The model's results so far. */
  private readonly results: string[] = [];

  constructor(task: CheckedTask) {
    const shared = freshShared();
    const name = task.modelName ?? "oracle";
    this.model = new Session({ ...task, shared, modelName: `${name}_eval` });
    this.truth = new Session({ ...task, shared, modelName: `${name}_ground_truth_eval` });
    this.groundTruth = task.groundTruth;
  }

  /** @returns why the task failed in this turn. Undefined if it did not */
  turn(turn: number, steps: readonly (readonly string[])[]): Verdict | undefined {
    const first = this.results.length;
    for (const step of steps) this.results.push(...this.model.execute(step));
    const wanted = this.truth.execute(present(this.groundTruth[turn], "the ground truth of a turn"));
    if (wanted.length === 0) return undefined;
    if (steps.length === 0) return invalid("empty_turn_model_response", `Model response list is empty for turn ${turn}`);
    return this.stateProblem() ?? this.responseProblem(turn, wanted, first);
  }

  private stateProblem(): Verdict | undefined {
    for (const [name, truth] of this.truth.instances) {
      const own = this.model.instances.get(name)?.state as Readonly<Record<string, Value>>;
      const wanted = truth.state as Readonly<Record<string, Value>>;
      const differs = (attribute: string) => {
        const [mine, theirs] = [present(own[attribute], attribute), present(wanted[attribute], attribute)];
        return mine !== theirs && !equal(mine, theirs);
      };
      const names = publicNames(truth);
      if (names.some(differs))
        return invalid(
          "instance_state_mismatch",
          `Model instance for ${name} does not match the state with ground truth instance.`,
          { differing_attributes: names.filter(differs).sort() },
        );
    }
    return undefined;
  }

  /** @param first the place of the turn's first result, where the search begins: that is where the same calls have theirs */
  private responseProblem(turn: number, wanted: readonly string[], first: number): Verdict | undefined {
    // Searched by comparing, which for long texts takes less time than hashing them.
    const left: (string | undefined)[] = this.results.slice();
    const missing = wanted.filter((result) => {
      const here = left.indexOf(result, first);
      const index = here >= 0 ? here : left.indexOf(result);
      if (index >= 0) left[index] = undefined;
      return index < 0;
    });
    if (missing.length === 0) return undefined;
    return invalid(
      "execution_response_mismatch",
      `Model response execution results so far does not contain all the ground truth response execution results for turn ${turn}.`,
      { missing_items: missing },
    );
  }
}
