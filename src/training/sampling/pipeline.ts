import { join } from "node:path";
import { maxBatchesOf } from "../../algorithms/algorithms.ts";
import { EngineError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import type { Turn } from "../../core/trajectory.ts";
import type { FrozenPolicy } from "../../engines/engine.ts";
import type { Progress } from "../../runs/records.ts";
import type { OnEvent, TrainingEvent } from "../record/events.ts";
import { withRecordedMasked } from "./masked-tokens.ts";
import { type GapLimit, gapLimit, type SamplerGap, sampleOfTurns, samplerGap } from "./sampler-gap.ts";
import { type Sampled, sampleGroups } from "./sampling.ts";
import type { StepArguments } from "./step-arguments.ts";
import type { RolloutSource, StepRollouts } from "./step-rollouts.ts";

/** A step's rollouts in the making, or made. */
interface Ahead {
  readonly step: number;
  readonly policy: FrozenPolicy;
  readonly events: ReturnType<typeof heldEvents>;
  readonly sampled: Promise<Sampled>;
}

/**
 * Rollouts of the next steps, sampled while the steps before are trained. With n = `rollout.ahead`:
 *
 *   rollouts of step k are sampled by the weights after step max(0, k − 1 − n), and begin as soon as these exist
 *
 * so the weights that sampled are min(k − 1, n) steps older than those that train, whatever was fast or slow. Each batch has a frozen policy,
 * and with it a sampler, of its own: what it samples depends on nothing that runs beside it. Up to n batches are in flight beside an
 * update, so those whose tools are slow do not idle the sampler of the others.
 *
 * A frozen policy is kept until the step that its batch is for is done. What makes a run go on is the frozen policies alone: batches that
 * were sampled ahead are sampled again, and come out the same.
 */
export class RolloutPipeline implements RolloutSource {
  readonly #args: StepArguments;
  readonly #closing = new AbortController();
  #batches: Ahead[] = [];
  /** Where the next batch's training tasks begin. */
  #position: Promise<number>;

  private constructor(args: StepArguments, position: number) {
    const signals = args.signal === undefined ? [] : [args.signal];
    this.#args = { ...args, signal: AbortSignal.any([this.#closing.signal, ...signals]) };
    this.#position = Promise.resolve(position);
  }

  /**
   * @param done what the run has behind it; the engine has the weights after it
   * @param saved where the frozen policies are of a run that has steps behind it
   */
  static async open(
    args: StepArguments,
    { step: done, position }: Progress,
    saved: string | undefined,
  ): Promise<RolloutPipeline> {
    const pipeline = new RolloutPipeline(args, position);
    const { engine } = args;
    for (const step of pipeline.#stepsBefore(done)) {
      const old = done === 0 || saved === undefined ? engine.freeze() : engine.loadFrozen(policyFolder(saved, step));
      pipeline.#begin(step, await old);
    }
    await pipeline.stepped(done);
    return pipeline;
  }

  async take(step: number): Promise<StepRollouts> {
    const { config, engine } = this.#args;
    const batch = present(
      this.#batches.find((ahead) => ahead.step === step),
      `the rollouts of step ${step}`,
    );
    const { policy, events } = batch;
    const started = performance.now();
    events.release();
    const sampled = await batch.sampled;
    const waitedSeconds = (performance.now() - started) / 1000;
    requireFrozen(sampled, policy);
    const { sampledTokens } = policy.takeStats();
    const gap = await gapOf(sampled, policy, config.rollout.temperature, gapLimit(config.limits.logprobGap, engine.info));
    engine.takeStats(); // what was scored here is no training
    return { ...sampled, sampledTokens, ahead: { staleness: Math.min(step - 1, config.rollout.ahead), gap, waitedSeconds } };
  }

  /** The weights after a step are those that sample for the step after the next n. */
  async stepped(done: number): Promise<void> {
    const { config, engine } = this.#args;
    const over = this.#batches.filter(({ step }) => step <= done);
    this.#batches = this.#batches.filter(({ step }) => step > done);
    for (const { policy } of over) await policy.dispose();
    const next = done + config.rollout.ahead + 1;
    if (next <= config.steps) this.#begin(next, await engine.freeze());
  }

  async saveState(folder: string, done: number): Promise<void> {
    const wanted = this.#stepsBefore(done);
    for (const { step, policy } of this.#batches) if (wanted.includes(step)) await policy.saveState(policyFolder(folder, step));
  }

  async close(): Promise<void> {
    this.#closing.abort(new DOMException("training has ended", "AbortError"));
    await Promise.allSettled(this.#batches.map(({ sampled }) => sampled));
    for (const { policy } of this.#batches) await policy.dispose();
    this.#batches = [];
  }

  /** Steps whose rollouts begin before a step is done, but are taken after it. */
  #stepsBefore(done: number): number[] {
    const { rollout, steps } = this.#args.config;
    const count = Math.max(0, Math.min(rollout.ahead, steps - done));
    return Array.from({ length: count }, (_, i) => done + 1 + i);
  }

  #begin(step: number, policy: FrozenPolicy): void {
    const { config } = this.#args;
    const { tasksPerStep } = config.rollout;
    const events = heldEvents(this.#args.onEvent);
    const start = this.#position;
    const sampled = start.then((position) => sampleGroups({ ...this.#args, onEvent: events.tell }, policy, step, position));
    // How many tasks dynamic sampling takes is known once it has ended.
    const size = maxBatchesOf(config.algorithm) === 1 ? Promise.resolve(tasksPerStep) : sampled.then(({ tasks }) => tasks);
    this.#position = Promise.all([start, size]).then(([position, tasks]) => position + tasks);
    // Whoever takes the batch meets its error; until then nobody handles it.
    for (const promise of [sampled, this.#position]) promise.catch(() => {});
    this.#batches.push({ step, policy, events, sampled });
  }
}

/**
 * Passes on what a batch reports while it is sampled in the background: warnings at once, its phases and progress once the trainer
 * waits for it, so that listeners see one phase after the other.
 */
function heldEvents(onEvent: OnEvent): { readonly tell: OnEvent; release(): void } {
  let held: TrainingEvent[] | undefined = [];
  return {
    tell: (event) => {
      if (held === undefined || (event.type !== "phase" && event.type !== "progress")) return onEvent(event);
      // Of several progress events in a row only the last one says something.
      if (event.type === "progress" && held.at(-1)?.type === "progress") held.pop();
      held.push(event);
    },
    release: () => {
      const waiting = held ?? [];
      held = undefined;
      for (const event of waiting) onEvent(event);
    },
  };
}

/** @throws EngineError where a turn was not sampled by the frozen weights */
function requireFrozen({ groups }: Sampled, { weightVersion }: FrozenPolicy): void {
  const mismatched = turnsOf({ groups }).find((turn) => turn.weightVersion !== weightVersion);
  if (mismatched === undefined) return;
  throw new EngineError(
    `the weight version of turn ${mismatched.turn} of trajectory ${mismatched.trajectory}`,
    mismatched.weightVersion,
    {
      expected: `${weightVersion}, that of the frozen policy which sampled its step`,
      hint: "A step's rollouts come from one policy: the engine's frozen policies must not take new weights.",
    },
  );
}

/** Over a sample of every turn: about an eighth of the tokens where groups are of eight, so an eighth of a forward pass. */
async function gapOf({ groups }: Sampled, policy: FrozenPolicy, temperature: number, limit: GapLimit): Promise<SamplerGap> {
  const turns = sampleOfTurns(groups);
  if (turns.length === 0) return samplerGap([], [], limit);
  return samplerGap(turns, withRecordedMasked(turns, await policy.logprobs(turns, { temperature })), limit);
}

function turnsOf({ groups }: Pick<Sampled, "groups">): Turn[] {
  return groups.flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => turns));
}

function policyFolder(folder: string, step: number): string {
  return join(folder, `step-${step}`);
}
