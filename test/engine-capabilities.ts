import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EngineError } from "../src/core/errors.ts";
import { type Capability, capabilities, type Values, type Weights } from "../src/core/policy.ts";
import type { ActionInContext } from "../src/core/trajectory.ts";
import type { Engine, EngineCritic, Sampler, StepOptions } from "../src/engines/engine.ts";
import {
  adamW,
  ascent,
  combine,
  distance,
  dot,
  expectClose,
  otherWeights,
  plain,
  rounding,
  samples,
  someWeights,
} from "./engine-fixtures.ts";

/** Registers a case, unless it needs what the engine lacks. */
export type When = (needs: readonly Capability[], name: string, run: () => Promise<void>) => void;

export function gates(has: readonly Capability[]): { when: When } {
  return {
    when: (needs, name, run) => {
      if (needs.every((capability) => has.includes(capability))) test(name, run);
    },
  };
}

/** What a temperature needs. */
export function tempered(temperature: number): Capability[] {
  return temperature === 1 ? [] : ["tempered-logprobs"];
}

/** Length of the steps along the gradient that central differences take. */
const short = 5e-3;
const noWeights: Weights = samples.map(({ action }) => action.map(() => 0));

/**
 * Cases of `engineSuite` for what an engine may lack.
 * @param has the capabilities that the engine is to have
 * @param folder where states can be saved
 */
export function capabilityCases(open: () => Promise<Engine>, has: readonly Capability[], folder: () => string): void {
  test("what it can do is listed, and what it lacks is refused by name", async () => {
    const engine = await open();
    expect([...engine.info.capabilities].sort()).toEqual([...has].sort());
    const step = (changes: Partial<StepOptions>) => () => engine.step({ ...adamW, ...changes });
    const uses: Record<Capability, (() => Promise<unknown>) | "nothing to ask for"> = {
      critic: () => engine.critic(),
      "entropy-gradient": () => engine.forwardBackward(samples, someWeights, { ...plain, entropyWeights: otherWeights }),
      reference: () => engine.snapshotReference(),
      "tempered-logprobs": () => engine.logprobs(samples, { temperature: 0.7 }),
      "gradient-accumulation": async () => {
        await engine.forwardBackward(samples, someWeights, plain);
        await engine.forwardBackward(samples, someWeights, plain);
      },
      "gradient-clipping": step({ clipNorm: 1 }),
      "adam-settings": step({ beta2: 0.5 }),
      "token-entropies": "nothing to ask for",
      "top-logprobs": () =>
        engine.sample({ context: samples[0].context.slice(), maxTokens: 1, stopTokens: [], seed: 1, topLogprobs: 2 }),
      "masked-sampling": () => {
        const mask = { next: () => new Int32Array([-1]), allows: () => false, accept: () => {} };
        return engine.sample({ context: samples[0].context.slice(), maxTokens: 1, stopTokens: [], seed: 1, mask });
      },
      "frozen-policies": () => engine.freeze(),
      "exact-state": "nothing to ask for",
      "full-precision-state": "nothing to ask for",
    };
    for (const capability of capabilities.filter((each) => !has.includes(each))) {
      const use = uses[capability];
      if (use === "nothing to ask for") continue;
      await expect(use()).rejects.toThrow(EngineError);
      await expect(use()).rejects.toThrow(`the capability "${capability}" of ${engine.info.name} is missing`);
    }
    expect(engine.info.fixedAdam === undefined).toBe(has.includes("adam-settings"));
  });
  const { when } = gates(has);
  if (has.includes("entropy-gradient")) describe("the gradient of the entropy", () => entropyCases(open, when));
  if (has.includes("critic")) describe("the critic", () => criticCases(open, folder, when));
  if (has.includes("frozen-policies")) describe("a frozen policy", () => frozenCases(open, folder, when));
  when(["token-entropies"], "entropies come with every sampled token", async () => {
    const engine = await open();
    const { tokens, entropies } = await engine.sample({
      context: samples[0].context.slice(),
      maxTokens: 5,
      stopTokens: [],
      seed: 1,
    });
    expect(entropies).toHaveLength(tokens.length);
    for (const entropy of entropies) {
      expect(entropy).toBeGreaterThan(0);
      expect(entropy).toBeLessThanOrEqual(Math.log(engine.info.vocabularySize) + rounding);
    }
  });
}

function entropyCases(open: () => Promise<Engine>, when: When): void {
  /** Away from a uniform distribution, whose entropy has no gradient. */
  const prepared = async () => {
    const engine = await open();
    await engine.forwardBackward(samples, someWeights, plain);
    await engine.step({ ...adamW, learningRate: 0.05 });
    return engine;
  };

  for (const temperature of [1, 1.7])
    when(
      ["adam-settings", ...tempered(temperature)],
      `agrees with central differences, at temperature ${temperature}`,
      async () => {
        const entropyWeights = otherWeights;
        const slopeOf = async (engine: Engine, direction: number, length: number, norm: number) => {
          const up = entropyWeights.map((row) => row.map((h) => h * direction));
          await engine.forwardBackward(samples, noWeights, { temperature, entropyWeights: up });
          const { gradientNorm } = await engine.step(ascent(length / norm));
          return { gradientNorm, objective: dot(entropyWeights, await entropies(engine, temperature)) };
        };
        const { gradientNorm } = await slopeOf(await prepared(), 1, 0, 1);
        const above = await slopeOf(await prepared(), 1, short, gradientNorm);
        const below = await slopeOf(await prepared(), -1, short, gradientNorm);
        expect((above.objective - below.objective) / (2 * short * gradientNorm)).toBeCloseTo(1, 1.7);
      },
    );

  when(["gradient-accumulation"], "adds to that of the log-probs, whether weights are decided or known beforehand", async () => {
    const apart = await prepared();
    await apart.forwardBackward(samples, someWeights, plain);
    await apart.forwardBackward(samples, noWeights, { ...plain, entropyWeights: otherWeights });
    const { gradientNorm } = await apart.step(adamW);
    // The weights of the first two samples are 0: their entropy is trained all the same.
    for (const decide of [someWeights, () => someWeights]) {
      const together = await prepared();
      await together.forwardBackward(samples, decide, { ...plain, entropyWeights: otherWeights });
      expect((await together.step(adamW)).gradientNorm / gradientNorm).toBeCloseTo(1, 4);
      expectClose(await together.logprobs(samples, plain), await apart.logprobs(samples, plain));
    }
  });

  when([], "reaches samples whose decided weights are all 0", async () => {
    const known = await prepared();
    await known.forwardBackward(samples, noWeights, { ...plain, entropyWeights: otherWeights });
    const { gradientNorm } = await known.step(adamW);
    const decided = await prepared();
    await decided.forwardBackward(samples, () => noWeights, { ...plain, entropyWeights: otherWeights });
    expect((await decided.step(adamW)).gradientNorm / gradientNorm).toBeCloseTo(1, 5);
    expect(gradientNorm).toBeGreaterThan(0);
  });
}

function criticCases(open: () => Promise<Engine>, folder: () => string, when: When): void {
  const train = async (critic: EngineCritic, weights: Weights, learningRate = adamW.learningRate) => {
    const values = await critic.forwardBackward(samples, () => weights);
    return { values, ...(await critic.step({ ...adamW, learningRate })) };
  };
  /** An engine whose critic tells states apart: its head is not 0. */
  const prepared = async () => {
    const engine = await open();
    const critic = await engine.critic();
    for (const weights of [someWeights, otherWeights, someWeights]) await train(critic, weights, 0.02);
    return { engine, critic };
  };

  when([], "values the state before a token, whatever token follows", async () => {
    const { critic } = await prepared();
    const [first, second, other] = await critic.values(samples);
    expect([first, second, other].map((row) => row.length)).toEqual([3, 2, 2]);
    expect(other[0]).toBeCloseTo(first[0], 5);
    expect(other[1]).toBeCloseTo(first[1], 5);
    expect(Math.abs(first[2] - first[1])).toBeGreaterThan(rounding);
    expect(distance(await critic.values([{ ...samples[0], action: [5, 6, 1] }]), [first])).toBeLessThan(rounding);
  });

  when([], "shows its values to the decision about weights, once", async () => {
    const { critic } = await prepared();
    const values = await critic.values(samples);
    const seen: Values[] = [];
    const returned = await critic.forwardBackward(samples, (current) => {
      seen.push(current);
      return someWeights;
    });
    expect(seen).toHaveLength(1);
    expectClose(seen[0], values);
    expectClose(returned, values);
  });

  when(["gradient-accumulation"], "gives gradients that add up until a step and are linear in the weights", async () => {
    const norms: number[] = [];
    const after: Values[] = [];
    for (const each of [[someWeights, otherWeights], [combine(someWeights, otherWeights, (a, b) => a + b)]]) {
      const { critic } = await prepared();
      for (const weights of each) await critic.forwardBackward(samples, () => weights);
      norms.push((await critic.step(adamW)).gradientNorm);
      after.push(await critic.values(samples));
    }
    expect(norms[0] / norms[1]).toBeCloseTo(1, 5);
    expectClose(after[0], after[1]);
  });

  when(["adam-settings"], "gives gradients that agree with central differences", async () => {
    const valueSum = async (critic: EngineCritic) => dot(someWeights, await critic.values(samples));
    const moved = async (direction: number, length: number, norm: number) => {
      const { critic } = await prepared();
      await critic.forwardBackward(samples, () => someWeights.map((row) => row.map((w) => w * direction)));
      const { gradientNorm } = await critic.step(ascent(length / norm));
      return { gradientNorm, objective: await valueSum(critic) };
    };
    const { gradientNorm } = await moved(1, 0, 1);
    const [above, below] = [await moved(1, short, gradientNorm), await moved(-1, short, gradientNorm)];
    expect((above.objective - below.objective) / (2 * short * gradientNorm)).toBeCloseTo(1, 1.7);
  });

  when(["adam-settings", "gradient-clipping"], "learns values that are asked for", async () => {
    const engine = await open();
    const critic = await engine.critic();
    // One value for each state: the first two of b are those of a.
    const targets = [
      [1, -0.5, 0.3],
      [0.8, 0],
      [1, -0.5],
    ];
    const loss = (values: Values) =>
      combine(values, targets, (v, target) => (v - target) ** 2)
        .flat()
        .reduce((a, b) => a + b);
    const before = loss(await critic.values(samples));
    for (let step = 0; step < 80; step++) {
      await critic.forwardBackward(samples, (values) => combine(targets, values, (target, v) => target - v));
      await critic.step({ ...adamW, learningRate: 0.02, weightDecay: 0, clipNorm: 1 });
    }
    expect(loss(await critic.values(samples)) / before).toBeLessThan(0.05);
    expect(critic.steps).toBe(80);
  });

  when([], "and the policy do not move each other", async () => {
    const { engine, critic } = await prepared();
    const [logprobs, values] = [await engine.logprobs(samples, plain), await critic.values(samples)];
    await train(critic, someWeights);
    expect(await engine.logprobs(samples, plain)).toEqual(logprobs);
    expect(engine.weightVersion).toBe(0);
    const moved = await critic.values(samples);
    expect(distance(moved, values)).toBeGreaterThan(0);
    await engine.forwardBackward(samples, someWeights, plain);
    await engine.step(adamW);
    expect(await (await engine.critic()).values(samples)).toEqual(moved);
    expect(critic.steps).toBe(4);
  });

  when(["exact-state", "full-precision-state"], "is saved, and continues exactly", async () => {
    const { engine, critic } = await prepared();
    const state = join(folder(), "with-critic");
    await engine.saveState(state);
    const expected = [await train(critic, someWeights), await train(critic, otherWeights)];

    const resumed = await open();
    await resumed.loadState(state);
    const again = await resumed.critic();
    expect(again.steps).toBe(3);
    expect([await train(again, someWeights), await train(again, otherWeights)]).toEqual(expected);
    expect(await again.values(samples)).toEqual(await critic.values(samples));
  });

  when(["exact-state", "full-precision-state"], "is forgotten by loading a state from before it", async () => {
    const engine = await open();
    const state = join(folder(), "without-critic");
    await engine.saveState(state);
    const first = await (await engine.critic()).values(samples);
    await train(await engine.critic(), someWeights, 0.02);
    await (await engine.critic()).forwardBackward(samples, () => otherWeights);
    await engine.loadState(state);
    const critic = await engine.critic();
    expect(critic.steps).toBe(0);
    expect(await critic.values(samples)).toEqual(first);
    // Nor has it kept a gradient.
    const fresh = await (await open()).critic();
    await train(fresh, someWeights);
    await train(critic, someWeights);
    expect(await critic.values(samples)).toEqual(await fresh.values(samples));
  });
}

/** Of the distribution that each action token was drawn from, from the log-probs of all tokens. */
async function entropies(engine: Engine, temperature: number): Promise<number[][]> {
  const rows: number[][] = [];
  for (const { context, action, ...which } of samples) {
    const row: number[] = [];
    for (const j of action.keys()) {
      const before = [...context, ...action.slice(0, j)];
      const every: ActionInContext[] = Array.from({ length: engine.info.vocabularySize }, (_, token) => ({
        ...which,
        context: before,
        action: [token],
      }));
      const logprobs = (await engine.logprobs(every, { temperature })).flat();
      row.push(-logprobs.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0));
    }
    rows.push(row);
  }
  return rows;
}

function frozenCases(open: () => Promise<Engine>, folder: () => string, when: When): void {
  const drawnFrom = (sampler: Sampler) =>
    Promise.all(
      [1, 2, 3].map((seed) => sampler.sample({ context: samples[0].context.slice(), maxTokens: 5, stopTokens: [], seed })),
    );
  const bold = { ...adamW, learningRate: 0.1 };

  when([], "is sampled and scored as it was, while and after the engine steps", async () => {
    const engine = await open();
    await engine.forwardBackward(samples, someWeights, plain);
    await engine.step(adamW);
    const [before, scored] = [await drawnFrom(engine), await engine.logprobs(samples, plain)];
    const frozen = await engine.freeze();
    await engine.forwardBackward(samples, someWeights, plain);
    const during = drawnFrom(frozen);
    await engine.step(bold);
    expect(await during).toEqual(before);
    expect(await drawnFrom(frozen)).toEqual(before);
    expect(await frozen.logprobs(samples, plain)).toEqual(scored);
    expect([frozen.weightVersion, engine.weightVersion]).toEqual([1, 2]);
    expect(before.map(({ weightVersion }) => weightVersion)).toEqual([1, 1, 1]);
    expect(distance(await engine.logprobs(samples, plain), scored)).toBeGreaterThan(0.01);
    await frozen.dispose();
  });

  when(["full-precision-state"], "comes back from its folder, in another engine and at another version", async () => {
    const [first, second] = [await open(), await open()];
    await first.forwardBackward(samples, someWeights, plain);
    await first.step(bold);
    const frozen = await first.freeze();
    await frozen.saveState(join(folder(), "frozen"));
    const loaded = await second.loadFrozen(join(folder(), "frozen"));
    expect(loaded.weightVersion).toBe(1);
    expect(second.weightVersion).toBe(0);
    expect(await drawnFrom(loaded)).toEqual(await drawnFrom(frozen));
    expect(await loaded.logprobs(samples, plain)).toEqual(await frozen.logprobs(samples, plain));
    for (const each of [frozen, loaded]) await each.dispose();
  });

  when([], "counts what it samples by itself", async () => {
    const engine = await open();
    const frozen = await engine.freeze();
    engine.takeStats();
    const tokens = (await drawnFrom(frozen)).reduce((sum, action) => sum + action.tokens.length, 0);
    expect(frozen.takeStats().sampledTokens).toBe(tokens);
    expect(frozen.takeStats().sampledTokens).toBe(0);
    expect(engine.takeStats().sampler.sampledTokens).toBe(0);
    await frozen.dispose();
  });
}
