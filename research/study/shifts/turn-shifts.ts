import { EngineError } from "../../../src/core/errors.ts";
import type { ActionInContext, TokenId, TrajectoryId } from "../../../src/core/trajectory.ts";
import type { SampleRequest } from "../../../src/engines/engine.ts";

interface Conversation {
  /** Shifts of the turns that were sampled. */
  readonly shifts: readonly number[];
  /** Ids that the next turn of the same shift continues: the last context and action. Undefined once the rollout is over. */
  readonly seen?: readonly TokenId[];
}

/**
 * The shift of every turn, by its trajectory. A shift begins where a context is not the one before it, continued: where the environment's
 * message was `fresh`. Contexts alone do not say it, since those of two later shifts may be equal.
 */
export class TurnShifts {
  readonly #conversations = new Map<TrajectoryId, Conversation>();

  /** The shift that a request belongs to. @throws EngineError for one without a trajectory */
  ofRequest({ cacheKey, context }: SampleRequest): number {
    const { shifts, seen } = this.#conversations.get(trajectoryOf(cacheKey)) ?? {};
    const last = shifts?.at(-1);
    if (seen === undefined || last === undefined) return 0;
    return seen.length <= context.length && seen.every((id, i) => id === context[i]) ? last : last + 1;
  }

  /** Keeps a turn that was sampled in a shift. */
  record({ cacheKey, context }: SampleRequest, action: readonly TokenId[], shift: number): void {
    const trajectory = trajectoryOf(cacheKey);
    const { shifts, seen } = this.#conversations.get(trajectory) ?? {};
    const before = seen === undefined ? [] : (shifts ?? []);
    this.#conversations.set(trajectory, { shifts: [...before, shift], seen: [...context, ...action] });
  }

  /** A rollout is over: its turns will be trained, and no more are sampled. */
  end(trajectory: TrajectoryId): void {
    const { shifts } = this.#conversations.get(trajectory) ?? {};
    if (shifts !== undefined) this.#conversations.set(trajectory, { shifts });
  }

  /** The shift that sampled a turn. @throws EngineError for a turn that was not sampled here */
  of({ trajectory, turn }: ActionInContext): number {
    const shift = this.#conversations.get(trajectory)?.shifts[turn];
    if (shift !== undefined) return shift;
    throw new EngineError(`the shift of turn ${turn}`, trajectory, { expected: "a turn that this engine has sampled" });
  }
}

function trajectoryOf(cacheKey: string | undefined): TrajectoryId {
  if (cacheKey !== undefined) return cacheKey;
  throw new EngineError("cacheKey", undefined, { expected: "the trajectory, which decides the shift" });
}
