import type { StepOptions } from "../../../src/engines/engine.ts";
import { DeviceMemory } from "../graph/device-memory.ts";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/session.ts";
import type { Binding } from "../machine/native/session.ts";
import type { DeviceTensor } from "../machine/native/tensor.ts";
import { type AdamWArithmetic, type AdamWStores, nonFiniteGradient, scalesOf } from "./host-adamw.ts";
import type { ParameterStore } from "./parameter-store.ts";

/** The tensors of a step in the order of `names`: what the runs of one recording read and write. */
type Taken = Readonly<Record<"gradient" | "parameter" | "first" | "second", readonly DeviceTensor[]>>;

/** Both runs of a step over tensors that stay where they are. */
interface Ready {
  readonly taken: Taken;
  readonly squares: Binding;
  readonly climb: Binding;
}

/** Recordings of a session, whose memory it keeps: new sessions are opened then. */
const mostRecorded = 8;

/**
 * The arithmetic of AdamW over parameters that are on a GPU: what `hostAdamW` computes, in float32. Of a step, only the sum of squares of each
 * parameter's gradient comes back, and numbers of all in common go there. Each parameter has kernels of its own: to put them together and
 * take them apart again costs fifty times as much. On CUDA their launches are recorded and replayed, since they take longer than the kernels.
 */
export class DeviceAdamW implements AdamWArithmetic {
  readonly #store: ParameterStore;
  readonly #records: boolean;
  #opened: Promise<Opened> | undefined;
  #ready: Ready | undefined;
  /** Whether a recording is still to be made. */
  #isNew = false;
  #recordings = 0;

  /** @param records whether runs are recorded. WebGPU would keep each value of them apart, several times what a model holds. */
  constructor(store: ParameterStore, records = store.provider === "cuda") {
    this.#store = store;
    this.#records = records;
  }

  async step(stores: AdamWStores, gradient: ParameterStore, options: StepOptions, steps: number): Promise<number> {
    const { names } = this.#store;
    const { squares, climb } = await this.#readied({ ...stores, gradient });
    const { board, memory } = await this.#open();
    // Apart from the update: a gradient that is not finite must change nothing.
    await squares.run();
    const sums = await memory.read(board.squares, new Float32Array(names.length));
    const norm = Math.sqrt(sums.reduce((total, sum) => total + sum, 0));
    if (!Number.isFinite(norm)) throw nonFiniteGradient(names[sums.findIndex((sum) => !Number.isFinite(sum))]);
    const climbBy = async (scales: Factors) => {
      const values = factorNames.map((name) => scales[name]);
      await memory.write(board.factors, Float32Array.from(values));
      await climb.run();
    };
    if (this.#isNew) {
      // A recording makes the run more than once.
      await climbBy(neutral);
      this.#isNew = false;
    }
    await climbBy(factors(options, steps, norm));
    for (const store of Object.values(stores)) store.changed();
    return norm;
  }

  async close(): Promise<void> {
    this.#forget();
    const opened = await this.#opened;
    this.#opened = undefined;
    this.#recordings = 0;
    if (opened === undefined) return;
    for (const session of [opened.squares, opened.climb]) await session.close();
    for (const tensor of Object.values(opened.board)) tensor.dispose();
  }

  /** The runs over the tensors of now. A recording knows them by their addresses: it is made again where one of them is another. */
  async #readied(stores: AdamWStores & { readonly gradient: ParameterStore }): Promise<Ready> {
    const { names } = this.#store;
    const of = async (store: ParameterStore) => {
      const tensors = await store.onDevice();
      return names.map((name) => tensorOf(tensors, name));
    };
    const { gradient, parameter, first, second } = stores;
    const taken: Taken = {
      ...{ gradient: await of(gradient), parameter: await of(parameter) },
      ...{ first: await of(first), second: await of(second) },
    };
    if (this.#ready !== undefined && isSame(this.#ready.taken, taken)) return this.#ready;
    this.#forget();
    if (this.#recordings >= mostRecorded) await this.close();
    const { squares, climb, board } = await this.#open();
    const feeds: Record<string, DeviceTensor> = { factors: board.factors };
    const into: Record<string, DeviceTensor> = {};
    for (const [kind, tensors] of Object.entries(taken))
      tensors.forEach((tensor, i) => {
        feeds[`${kind}/${i}`] = tensor;
        if (kind !== "gradient") into[`new/${kind}/${i}`] = tensor;
      });
    const gradients = Object.fromEntries(taken.gradient.map((tensor, i) => [`gradient/${i}`, tensor]));
    const captured = this.#records ? ++this.#recordings : undefined;
    this.#ready = {
      taken,
      squares: squares.bind(gradients, { squares: board.squares }, captured),
      climb: climb.bind(feeds, into, captured),
    };
    this.#isNew = this.#records;
    return this.#ready;
  }

  #forget(): void {
    for (const binding of [this.#ready?.squares, this.#ready?.climb]) binding?.release();
    this.#ready = undefined;
  }

  #open(): Promise<Opened> {
    this.#opened ??= open(this.#store, this.#records);
    return this.#opened;
  }
}

interface Opened {
  readonly squares: Session;
  readonly climb: Session;
  readonly memory: DeviceMemory;
  readonly board: { readonly squares: DeviceTensor; readonly factors: DeviceTensor };
}

async function open({ shapes, provider }: ParameterStore, captured: boolean): Promise<Opened> {
  if (provider === undefined) throw new RangeError("parameters that are not on a device");
  const options = { threads: 1, provider, captured };
  const memory = await DeviceMemory.of(provider);
  return {
    squares: await Session.open(sumsOfSquares([...shapes.values()]), options),
    climb: await Session.open(climbing([...shapes.values()]), options),
    memory,
    board: { squares: memory.allocate([shapes.size]), factors: memory.allocate([factorNames.length]) },
  };
}

function isSame(some: Taken, others: Taken): boolean {
  return (Object.keys(some) as (keyof Taken)[]).every((kind) => some[kind].every((tensor, i) => tensor === others[kind][i]));
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
  g.outputLast("squares");
  return g;
}

/** The numbers of a step that all parameters have in common. */
const factorNames = ["beta1", "beta2", "ofFirst", "ofSecond", "decay", "deviation", "floor"] as const;
type Factors = Readonly<Record<(typeof factorNames)[number], number>>;

/** With these a step changes nothing: m ← m + 0·g, v ← v + (0·g)², θ ← θ + m/∞. */
const neutral: Factors = {
  ...{ beta1: 1, beta2: 1, ofFirst: 0, ofSecond: 0 },
  ...{ decay: 1, deviation: 0, floor: Number.POSITIVE_INFINITY },
};

function factors(
  { learningRate, beta1, beta2, epsilon, weightDecay, clipNorm }: StepOptions,
  steps: number,
  norm: number,
): Factors {
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
  const each = g.split(g.input("factors", [factorNames.length]), 0, Array(factorNames.length).fill(1));
  const [beta1, beta2, ofFirst, ofSecond, decay, deviation, floor] = each;
  shapes.forEach((shape, i) => {
    const [parameter, gradient, first, second] = ["parameter", "gradient", "first", "second"].map((kind) =>
      g.input(`${kind}/${i}`, shape),
    );
    g.add(g.mul(first, beta1), g.mul(gradient, ofFirst));
    const m = g.outputLast(`new/first/${i}`); // an Identity would copy it
    const scaled = g.mul(gradient, ofSecond);
    g.add(g.mul(second, beta2), g.mul(scaled, scaled));
    const v = g.outputLast(`new/second/${i}`);
    const step = g.div(m, g.add(g.mul(g.sqrt(v), deviation), floor));
    g.add(g.mul(parameter, decay), step);
    g.outputLast(`new/parameter/${i}`);
  });
  return g;
}
