import { EngineError } from "../../../src/core/errors.ts";
import type { Decide, Logprobs, StepReport, Weights } from "../../../src/core/policy.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import { CallOrder } from "../../../src/engines/call-order.ts";
import {
  type BackwardOptions,
  type Engine,
  type EngineCritic,
  type EngineInfo,
  type EngineStats,
  type ForwardOptions,
  type FrozenPolicy,
  missingCapability,
  type SampledAction,
  type SampleRequest,
  type StepOptions,
} from "../../../src/engines/engine.ts";
import { openModel } from "../../../src/sdk/model.ts";
import { TurnShifts } from "./turn-shifts.ts";

/** Opens a model with parameters for each shift: the same base, and an adapter a shift where the engine trains adapters. */
export function openShifts(count: number): typeof openModel {
  return async (...choice) => {
    const { engine, chat, device } = await openModel(...choice);
    const engines: [Engine, ...Engine[]] = [engine];
    while (engines.length < count) engines.push((await openModel(...choice)).engine);
    return { engine: new ShiftEngine(engines), chat, device };
  };
}

/**
 * One engine for each shift of an episode, with parameters, gradient and AdamW of its own: agents that share nothing, which SeeUPO's theorem
 * asks for. A turn is sampled by its shift's engine, and moves that one alone. A gradient is clipped by shift. Without critic and frozen policies.
 */
export class ShiftEngine implements Engine {
  readonly info: EngineInfo;
  readonly #engines: readonly Engine[];
  readonly #shifts = new TurnShifts();
  readonly #order = new CallOrder();
  /** Engines with a gradient. */
  readonly #moved = new Set<Engine>();

  constructor(engines: readonly [Engine, ...Engine[]]) {
    const [{ info }] = engines;
    this.#engines = engines;
    const lacks = ["critic", "frozen-policies"];
    this.info = { ...info, capabilities: info.capabilities.filter((capability) => !lacks.includes(capability)) };
  }

  /** Steps of all shifts. */
  get weightVersion(): number {
    return this.#engines.reduce((sum, engine) => sum + engine.weightVersion, 0);
  }

  async sample(request: SampleRequest): Promise<SampledAction> {
    await this.#order.settled();
    const shift = this.#shifts.ofRequest(request);
    const action = await this.#engineOf(shift).sample(request);
    this.#shifts.record(request, action.tokens, shift);
    return { ...action, weightVersion: this.weightVersion };
  }

  release(cacheKey: string): void {
    this.#shifts.end(cacheKey);
    for (const engine of this.#engines) engine.release(cacheKey);
  }

  logprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs> {
    return this.#order.run(() => this.#byShift(samples, (engine, own) => engine.logprobs(own, options)));
  }

  referenceLogprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs> {
    return this.#order.run(() => this.#byShift(samples, (engine, own) => engine.referenceLogprobs(own, options)));
  }

  /** Shifts whose weights are all 0 have no gradient, and do not step. */
  forwardBackward(
    samples: readonly ActionInContext[],
    decide: Decide | Weights,
    { temperature, entropyWeights }: BackwardOptions,
  ): Promise<Logprobs> {
    const forward = (engine: Engine, own: readonly ActionInContext[]) => engine.logprobs(own, { temperature });
    return this.#order.run(async () => {
      const weights = typeof decide === "function" ? decide(await this.#byShift(samples, forward)) : decide;
      return this.#byShift(samples, (engine, own, ofOwn) => {
        const [ownWeights, ownEntropy] = [ofOwn(weights), entropyWeights && ofOwn(entropyWeights)];
        if (![...ownWeights, ...(ownEntropy ?? [])].flat().some((weight) => weight !== 0)) return forward(engine, own);
        this.#moved.add(engine);
        return engine.forwardBackward(own, ownWeights, { temperature, entropyWeights: ownEntropy });
      });
    });
  }

  step(options: StepOptions): Promise<StepReport> {
    return this.#order.run(async () => {
      const norms: number[] = [];
      for (const engine of this.#moved) norms.push((await engine.step(options)).gradientNorm);
      this.#moved.clear();
      return { gradientNorm: Math.hypot(...norms), learningRate: options.learningRate };
    });
  }

  snapshotReference(): Promise<void> {
    return this.#each((engine) => engine.snapshotReference());
  }

  /** A folder for each shift, named `shift-0` and so on; so do states. */
  saveModel(folder: string): Promise<void> {
    return this.#each((engine, own) => engine.saveModel(`${folder}/${own}`));
  }

  saveState(folder: string): Promise<void> {
    return this.#each((engine, own) => engine.saveState(`${folder}/${own}`));
  }

  loadState(folder: string): Promise<void> {
    return this.#each((engine, own) => engine.loadState(`${folder}/${own}`));
  }

  dropState(folder: string): Promise<void> {
    return this.#each((engine, own) => engine.dropState(`${folder}/${own}`));
  }

  takeStats(): EngineStats {
    const all = this.#engines.map((engine) => engine.takeStats());
    return { sampler: summed(all.map(({ sampler }) => sampler)), training: summed(all.map(({ training }) => training)) };
  }

  dispose(): Promise<void> {
    return this.#each((engine) => engine.dispose());
  }

  async freeze(): Promise<FrozenPolicy> {
    throw missingCapability(this.info, "frozen-policies");
  }

  loadFrozen(): Promise<FrozenPolicy> {
    return this.freeze();
  }

  async critic(): Promise<EngineCritic> {
    throw missingCapability(this.info, "critic");
  }

  #engineOf(shift: number): Engine {
    const engine = this.#engines[shift];
    if (engine !== undefined) return engine;
    throw new EngineError("shift", shift, {
      expected: `one of ${this.#engines.length}`,
      hint: "Give the arm as many shifts as its episodes have.",
    });
  }

  #each(call: (engine: Engine, folder: string) => Promise<void>): Promise<void> {
    return this.#order.run(async () => {
      for (const [shift, engine] of this.#engines.entries()) await call(engine, `shift-${shift}`);
    });
  }

  /** Calls every engine with the samples of its shift, and returns the rows in the order of all samples. @param call's `ofOwn` picks their rows */
  async #byShift<Row>(
    samples: readonly ActionInContext[],
    call: (
      engine: Engine,
      own: readonly ActionInContext[],
      ofOwn: <T>(rows: readonly T[]) => readonly T[],
    ) => Promise<readonly Row[]>,
  ): Promise<readonly Row[]> {
    const shifts = samples.map((sample) => this.#shifts.of(sample));
    const all: Row[] = [];
    for (const shift of new Set(shifts)) {
      const ofOwn = <T>(rows: readonly T[]) => rows.filter((_, i) => shifts[i] === shift);
      const rows = [...(await call(this.#engineOf(shift), ofOwn(samples), ofOwn))].values();
      for (const [i, other] of shifts.entries()) if (other === shift) all[i] = rows.next().value as Row;
    }
    return all;
  }
}

function summed<Counts extends object>(all: readonly (Counts & Readonly<Record<keyof Counts, number>>)[]): Counts {
  const names = Object.keys(all[0] ?? {}) as (keyof Counts)[];
  return Object.fromEntries(names.map((name) => [name, all.reduce((sum, counts) => sum + counts[name], 0)])) as Counts;
}
