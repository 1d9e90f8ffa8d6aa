import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Capability, capabilities, type Logprobs, type Weights } from "../src/core/policy.ts";
import type { ActionInContext } from "../src/core/trajectory.ts";
import type { Engine, SampleRequest } from "../src/engines/engine.ts";
import { capabilityCases, gates, tempered } from "./engine-capabilities.ts";
import {
  adamW,
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

/**
 * What the engine seam promises, for every implementation.
 * @param makeEngine opens the same model each time, one of at least 10 tokens
 * @param has the capabilities that it is to have: all if left out
 */
export function engineSuite(name: string, makeEngine: () => Promise<Engine>, has: readonly Capability[] = capabilities): void {
  describe(`${name} keeps the promises of an engine`, () => {
    const { when } = gates(has);
    const engines: Engine[] = [];
    let folder: string;
    const open = async () => {
      const engine = await makeEngine();
      engines.push(engine);
      return engine;
    };
    /** An engine after a gradient of these weights and a step along it. */
    const stepped = async (...weights: Weights[]) => {
      const engine = await open();
      for (const each of weights) await engine.forwardBackward(samples, each, plain);
      const { gradientNorm } = await engine.step(adamW);
      return { gradientNorm, logprobs: await engine.logprobs(samples, plain) };
    };
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "engine-"));
    });
    afterEach(async () => {
      for (const engine of engines.splice(0)) await engine.dispose();
    });
    afterAll(() => rm(folder, { recursive: true }));

    capabilityCases(open, has, () => folder);

    describe("sampling", () => {
      for (const temperature of [1, 0.7])
        when(tempered(temperature), `reports the log-probs that it would train on, at temperature ${temperature}`, async () => {
          const engine = await open();
          const requests = samples.map(({ context }, seed) => ({ ...request({ context: context.slice(), seed }), temperature }));
          const actions = await Promise.all(requests.map((each) => engine.sample(each)));
          const drawn = actions.map(({ tokens }, i) => ({ ...samples[i], action: tokens }));
          expectClose(
            actions.map((a) => a.logprobs),
            await engine.logprobs(drawn, { temperature }),
          );
          const own = actions.flatMap(({ modelLogprobs }) => (modelLogprobs === undefined ? [] : [modelLogprobs]));
          if (own.length > 0) expectClose(own, await engine.logprobs(drawn, plain));
          for (const { weightVersion } of actions) expect(weightVersion).toBe(engine.weightVersion);
        });

      for (const temperature of [1, 0.7])
        when(
          ["top-logprobs", "token-entropies"],
          `reports the most likely candidates of every token on request, at temperature ${temperature}`,
          async () => {
            const engine = await open();
            const all = await engine.sample(request({ maxTokens: 4, temperature, topLogprobs: engine.info.vocabularySize }));
            const two = await engine.sample(request({ maxTokens: 4, temperature, topLogprobs: 2 }));
            expect(two.topLogprobs).toEqual(all.topLogprobs?.map((candidates) => candidates.slice(0, 2)));
            expect(all.topLogprobs).toHaveLength(4);
            for (const [t, candidates] of all.topLogprobs?.entries() ?? []) {
              expect(candidates).toEqual([...candidates].sort((a, b) => b - a));
              const entropy = -candidates.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0);
              expect(Math.abs(entropy - all.entropies[t])).toBeLessThan(rounding);
            }
            expect((await engine.sample(request({ maxTokens: 4, temperature }))).topLogprobs).toBeUndefined();
          },
        );

      test("is decided by the seed, and greedy at temperature 0", async () => {
        const [first, second] = [await open(), await open()];
        expect(await first.sample(request({ seed: 3 }))).toEqual(await second.sample(request({ seed: 3 })));
        const greedy = await first.sample(request({ temperature: 0, seed: 3 }));
        const every = Array.from({ length: first.info.vocabularySize }, (_, token) => ({ ...samples[0], action: [token] }));
        const logprobs = (await first.logprobs(every, plain)).map(([logprob]) => logprob);
        expect(logprobs[greedy.tokens[0]]).toBeCloseTo(Math.max(...logprobs), 4);
      });

      test("ends at the token limit, or after a stop token", async () => {
        const engine = await open();
        const free = await engine.sample(request());
        expect(free).toMatchObject({ finish: "length", tokens: { length: request().maxTokens } });
        const stop = free.tokens[2];
        const stopped = await engine.sample(request({ stopTokens: [stop] }));
        expect(stopped).toMatchObject({ finish: "stop", tokens: free.tokens.slice(0, free.tokens.indexOf(stop) + 1) });
      });
    });

    describe("gradients", () => {
      test("come with the log-probs, which the decision about weights sees once", async () => {
        const engine = await open();
        const logprobs = await engine.logprobs(samples, plain);
        const seen: Logprobs[] = [];
        const returned = await engine.forwardBackward(
          samples,
          (current) => {
            seen.push(current);
            return someWeights;
          },
          plain,
        );
        expect(seen).toHaveLength(1);
        expectClose(seen[0], logprobs);
        expectClose(returned, logprobs);
        expectClose(await (await open()).forwardBackward(samples, someWeights, plain), logprobs);
      });

      test("are the same for weights that are decided or known", async () => {
        const known = await stepped(someWeights);
        const engine = await open();
        await engine.forwardBackward(samples, () => someWeights, plain);
        expect((await engine.step(adamW)).gradientNorm / known.gradientNorm).toBeCloseTo(1, 5);
        expectClose(await engine.logprobs(samples, plain), known.logprobs);
      });

      when(["gradient-accumulation"], "add up until a step, and are linear in the weights", async () => {
        const apart = await stepped(someWeights, otherWeights);
        const together = await stepped(combine(someWeights, otherWeights, (a, b) => a + b));
        const doubled = await stepped(combine(someWeights, otherWeights, (a, b) => 2 * (a + b)));
        expect(apart.gradientNorm / together.gradientNorm).toBeCloseTo(1, 5);
        expect(doubled.gradientNorm / together.gradientNorm).toBeCloseTo(2, 5);
        expectClose(apart.logprobs, together.logprobs);
      });

      test("ignore samples whose weights are all 0", async () => {
        const engine = await open();
        await engine.forwardBackward(samples.slice(0, 1), someWeights.slice(0, 1), plain);
        const { gradientNorm } = await engine.step(adamW);
        for (const decide of [false, true]) {
          const other = await open();
          const weights = someWeights.map((row, i) => (i === 0 ? row : row.map(() => 0)));
          await other.forwardBackward(samples, decide ? () => weights : weights, plain);
          expect((await other.step(adamW)).gradientNorm / gradientNorm).toBeCloseTo(1, 5);
          expectClose(await other.logprobs(samples, plain), await engine.logprobs(samples, plain));
        }
      });

      when(["tempered-logprobs", "adam-settings"], "are those of the tempered log-probs", async () => {
        // ∂(Σ w·log π_T)/∂θ by the objective itself: a small step of plain gradient ascent gains η·‖g‖² to first order.
        const engine = await open();
        const [temperature, eta, large] = [1.7, 1e-6, 1e8];
        const objective = async () => dot(someWeights, await engine.logprobs(samples, { temperature }));
        const before = await objective();
        await engine.forwardBackward(samples, someWeights, { temperature });
        // With a large ε AdamW's first step is η·g.
        const { gradientNorm } = await engine.step({ ...adamW, weightDecay: 0, learningRate: eta * large, epsilon: large });
        expect(((await objective()) - before) / (eta * gradientNorm ** 2)).toBeCloseTo(1, 1);
      });
    });

    describe("a step", () => {
      test("raises what has positive weights, lowers what has negative ones, and counts", async () => {
        const engine = await open();
        const [raised, lowered] = samples.slice(1);
        const sum = async (sample: ActionInContext) => dot([sample.action.map(() => 1)], await engine.logprobs([sample], plain));
        const before = [await sum(raised), await sum(lowered)];
        await engine.forwardBackward([raised, lowered], [raised.action.map(() => 1), lowered.action.map(() => -1)], plain);
        expect(await engine.step(adamW)).toMatchObject({ learningRate: adamW.learningRate });
        expect(await sum(raised)).toBeGreaterThan(before[0]);
        expect(await sum(lowered)).toBeLessThan(before[1]);
        expect(engine.weightVersion).toBe(1);
        expect((await engine.sample(request())).weightVersion).toBe(1);
      });

      when(["gradient-clipping"], "clears the gradient, and reports its norm before clipping", async () => {
        const engine = await open();
        const norms: number[] = [];
        for (const clipNorm of [Number.POSITIVE_INFINITY, 1e-3]) {
          await engine.forwardBackward(samples, someWeights, plain);
          norms.push((await engine.step({ ...adamW, learningRate: 0, clipNorm })).gradientNorm);
        }
        expect(norms[1]).toBeGreaterThan(1e-2);
        expect(norms[1] / norms[0]).toBeCloseTo(1, 5);
      });
    });

    when(["reference"], "the reference is the model at the last snapshot", async () => {
      const engine = await open();
      await engine.snapshotReference();
      const first = await engine.logprobs(samples, plain);
      await engine.forwardBackward(samples, someWeights, plain);
      await engine.step(adamW);
      expectClose(await engine.referenceLogprobs(samples, plain), first);
      const second = await engine.logprobs(samples, plain);
      expect(distance(second, first)).toBeGreaterThan(10 * rounding);
      await engine.snapshotReference();
      expectClose(await engine.referenceLogprobs(samples, plain), second);
    });

    describe("calls", () => {
      test("take effect in the order in which they are made, awaited or not", async () => {
        const awaited = await open();
        await awaited.forwardBackward(samples, someWeights, plain);
        await awaited.step(adamW);
        const expected = [await awaited.logprobs(samples, plain), await awaited.sample(request({ seed: 4 }))] as const;
        await awaited.forwardBackward(samples, () => otherWeights, plain);
        await awaited.step(adamW);
        const last = await awaited.logprobs(samples, plain);

        const engine = await open();
        const first = [engine.forwardBackward(samples, someWeights, plain), engine.step(adamW)];
        const [scored, drawn] = [engine.logprobs(samples, plain), engine.sample(request({ seed: 4 }))];
        expectClose(await scored, expected[0]);
        expect((await drawn).tokens).toEqual(expected[1].tokens);
        const second = [engine.forwardBackward(samples, () => otherWeights, plain), engine.step(adamW)];
        expectClose(await engine.logprobs(samples, plain), last);
        await Promise.all([...first, ...second]);
        expect(engine.weightVersion).toBe(2);
      });

      test("that fail leave those after them", async () => {
        const engine = await open();
        const wrong = engine.forwardBackward(
          samples,
          () => {
            throw new RangeError("decided nothing");
          },
          plain,
        );
        const scored = engine.logprobs(samples, plain);
        await expect(wrong).rejects.toThrow("decided nothing");
        expect(await scored).toHaveLength(samples.length);
      });
    });

    describe("a saved state", () => {
      test("brings back the parameters near enough to go on, and is dropped by its folder", async () => {
        const engine = await open();
        await engine.forwardBackward(samples, someWeights, plain);
        await engine.step(adamW);
        const before = await engine.logprobs(samples, plain);
        const state = join(folder, "near");
        await engine.saveState(state);
        await engine.forwardBackward(samples, otherWeights, plain);
        await engine.step({ ...adamW, learningRate: 0.1 });
        const moved = distance(await engine.logprobs(samples, plain), before);
        await engine.loadState(state);
        const near = has.includes("full-precision-state") ? rounding : moved / 10;
        expect(distance(await engine.logprobs(samples, plain), before)).toBeLessThan(near);
        expect(engine.weightVersion).toBe(1);
        await engine.dropState(state);
      });

      when(
        ["exact-state", "full-precision-state", "reference"],
        "continues exactly: the same numbers and, after one more step, the same model byte for byte",
        async () => {
          const train = async (engine: Engine) => {
            const drawn = await engine.sample(request({ seed: engine.weightVersion }));
            await engine.forwardBackward([...samples, { ...samples[0], action: drawn.tokens }], (logprobs) => logprobs, plain);
            return { drawn, report: await engine.step(adamW) };
          };
          const original = await open();
          await train(original);
          await original.snapshotReference();
          await train(original);
          const state = join(folder, "state");
          await original.saveState(state);
          const expected = await train(original);

          const resumed = await open();
          await resumed.loadState(state);
          expect(resumed.weightVersion).toBe(2);
          expect(await resumed.referenceLogprobs(samples, plain)).toEqual(await original.referenceLogprobs(samples, plain));
          expect(await train(resumed)).toEqual(expected);
          const [a, b] = [join(folder, "original"), join(folder, "resumed")];
          await original.saveModel(a);
          await resumed.saveModel(b);
          const filesIn = async (path: string) =>
            (await readdir(path, { recursive: true, withFileTypes: true }))
              .filter((entry) => entry.isFile())
              .map((entry) => relative(path, join(entry.parentPath, entry.name)))
              .sort();
          expect(await filesIn(b)).toEqual(await filesIn(a));
          for (const file of await filesIn(a))
            expect((await readFile(join(a, file))).equals(await readFile(join(b, file)))).toBe(true);
        },
      );

      when(
        ["exact-state", "full-precision-state"],
        "undoes all that happened since, gradients that wait for a step included",
        async () => {
          const engine = await open();
          const before = await engine.logprobs(samples, plain);
          const state = join(folder, "undo");
          await engine.saveState(state);
          await engine.forwardBackward(samples, someWeights, plain);
          await engine.step(adamW);
          await engine.forwardBackward(samples, otherWeights, plain);
          await engine.loadState(state);
          expect(await engine.logprobs(samples, plain)).toEqual(before);
          expect(engine.weightVersion).toBe(0);
          await engine.forwardBackward(samples, someWeights, plain);
          await engine.step(adamW);
          expectClose(await engine.logprobs(samples, plain), (await stepped(someWeights)).logprobs);
        },
      );
    });
  });
}

/** A server may compile each limit of tokens anew: cases that do not need another keep this one. */
function request(changes: Partial<SampleRequest> = {}): SampleRequest {
  return { context: samples[0].context.slice(), maxTokens: 5, stopTokens: [], seed: 1, ...changes };
}
