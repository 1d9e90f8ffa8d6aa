import type { StepOptions } from "../../../src/engines/engine.ts";
import { Graph } from "../graph/graph.ts";
import { type Feed, Session } from "../graph/session.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { DeviceTensor } from "../machine/native/tensor.ts";
import { type AdamWArithmetic, nonFiniteGradient, scalesOf } from "./host-adamw.ts";
import type { ParameterStore } from "./parameter-store.ts";

/**
 * The arithmetic of AdamW over parameters that are on a GPU: what `hostAdamW` computes, in float32. Of a step, only the sum of squares of each
 * parameter's gradient comes back, and numbers of all in common go there. Each parameter has kernels of its own: to put them together and
 * take them apart again costs fifty times as much.
 */
export function deviceAdamW({ names, shapes, provider }: ParameterStore): AdamWArithmetic {
  const open = async () => ({
    squares: await Session.open(sumsOfSquares([...shapes.values()]), { threads: 1, provider }),
    climb: await Session.open(climbing([...shapes.values()]), { threads: 1, provider }),
  });
  let sessions: ReturnType<typeof open> | undefined;
  return {
    step: async (stores, gradient, options, steps) => {
      sessions ??= open();
      const { squares, climb } = await sessions;
      const gradients = await gradient.onDevice();
      const feeds: Record<string, Feed> = {};
      names.forEach((name, i) => {
        feeds[`gradient/${i}`] = tensorOf(gradients, name);
      });
      // Apart from the update: a gradient that is not finite must change nothing.
      const sums = (await squares.run(feeds, ["squares"])).squares;
      const norm = Math.sqrt(sums.reduce((total, sum) => total + sum, 0));
      if (!Number.isFinite(norm)) throw nonFiniteGradient(names[sums.findIndex((sum) => !Number.isFinite(sum))]);
      const into: Record<string, DeviceTensor> = {};
      for (const [kind, store] of Object.entries(stores)) {
        const tensors = await store.onDevice();
        names.forEach((name, i) => {
          feeds[`${kind}/${i}`] = into[`new/${kind}/${i}`] = tensorOf(tensors, name);
        });
      }
      const scales = factors(options, steps, norm);
      for (const [name, value] of Object.entries(scales)) feeds[name] = { data: Float32Array.of(value), shape: [1] };
      await climb.runInto(feeds, into);
      for (const store of Object.values(stores)) store.changed();
      return norm;
    },
    close: async () => {
      for (const session of Object.values((await sessions) ?? {})) await session.close();
      sessions = undefined;
    },
  };
}

function tensorOf(tensors: ReadonlyMap<string, DeviceTensor>, name: string): DeviceTensor {
  const tensor = tensors.get(name);
  if (tensor === undefined) throw new RangeError(`no ${name} on the device`);
  return tensor;
}

/** Most values that one kernel of WebGPU puts together. */
const joined = 8;

/** Σg² of each gradient, [P]: lines first, since one long sum of float32 is a thousandth off. */
function sumsOfSquares(shapes: readonly (readonly number[])[]): Graph {
  const g = new Graph();
  let sums = shapes.map((shape, i) => {
    const gradient = g.input(`gradient/${i}`, shape);
    const axes = shape.map((_, axis) => axis);
    return g.reshape(g.sum(g.sum(g.mul(gradient, gradient), axes.slice(-1)), axes), [1]);
  });
  while (sums.length > 1)
    sums = Array.from({ length: Math.ceil(sums.length / joined) }, (_, i) => {
      const some = sums.slice(i * joined, (i + 1) * joined);
      return some.length === 1 ? some[0] : g.concat(some, 0);
    });
  g.output("squares", sums[0]);
  return g;
}

/** The numbers of a step that all parameters have in common. */
function factors({ learningRate, beta1, beta2, epsilon, weightDecay, clipNorm }: StepOptions, steps: number, norm: number) {
  const { clipScale, decay, stepSize, secondScale } = scalesOf(
    { learningRate, beta1, beta2, weightDecay, clipNorm },
    steps,
    norm,
  );
  // What divides m is divided by the step's size, which must not be 0 for that.
  const size = Math.max(stepSize, 1e-30);
  return {
    ...{ beta1, beta2, ofFirst: (1 - beta1) * clipScale, ofSecond: Math.sqrt(1 - beta2) * clipScale },
    ...{ decay, deviation: secondScale / size, floor: epsilon / size },
  };
}

/**
 * m ← β1·m + (1-β1)·c·g      v ← β2·v + (√(1-β2)·c·g)²      θ ← decay·θ + m / (√v·deviation + floor)
 *
 * Each is written to where it was read. No kernel reads the memory that it writes to, which WebGPU refuses.
 */
function climbing(shapes: readonly (readonly number[])[]): Graph {
  const g = new Graph();
  const [beta1, beta2, ofFirst, ofSecond, decay, deviation, floor] = (
    ["beta1", "beta2", "ofFirst", "ofSecond", "decay", "deviation", "floor"] satisfies (keyof ReturnType<typeof factors>)[]
  ).map((name): Tensor => g.input(name, [1]));
  shapes.forEach((shape, i) => {
    const [parameter, gradient, first, second] = ["parameter", "gradient", "first", "second"].map((kind) =>
      g.input(`${kind}/${i}`, shape),
    );
    const m = g.add(g.mul(first, beta1), g.mul(gradient, ofFirst));
    const scaled = g.mul(gradient, ofSecond);
    const v = g.add(g.mul(second, beta2), g.mul(scaled, scaled));
    const step = g.div(m, g.add(g.mul(g.sqrt(v), deviation), floor));
    g.output(`new/parameter/${i}`, g.add(g.mul(parameter, decay), step));
    g.output(`new/first/${i}`, m);
    g.output(`new/second/${i}`, v);
  });
  return g;
}
