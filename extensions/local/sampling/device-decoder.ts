import type { DeviceEntries } from "../graph/device-entries.ts";
import { DeviceMemory, type Prepared } from "../graph/device-memory.ts";
import { Session } from "../graph/session.ts";
import { isGpu, type Provider, type SessionOptions } from "../machine/device.ts";
import type { Binding } from "../machine/native/session.ts";
import type { DeviceTensor } from "../machine/native/tensor.ts";
import { Recent } from "../machine/recent.ts";
import { type ModelConfig, parameterShapes } from "../model/model-config.ts";
import { rotationFeeds } from "../model/rotation.ts";
import { decodeGraph, given, taken } from "./decode-graph.ts";
import { type DeviceSlots, rowsFor } from "./device-slots.ts";
import type { DeviceWeights } from "./device-weights.ts";

/** The numbers that a row brings to a decoding step. */
export interface DecodedRow {
  readonly token: number;
  readonly position: number;
  /** In [0, 1): what its next token is drawn with. */
  readonly uniform: number;
  /** 0 is greedy. */
  readonly temperature: number;
}

/** The numbers that a decoding step gives. Valid until the next one. */
export interface Decoded {
  /** [R, 4]: token, its probability, its log-prob under the model, and the entropy. */
  readonly drawn: Float32Array;
  /** Whole lines of some rows: [rows, V] each. */
  lines(rows: readonly number[]): Promise<{ readonly probabilities: Float32Array; readonly logits: Float32Array }>;
}

/** Numbers of recorded runs, which no two have in common. */
let recorded = 0;
/** Steps whose bindings are kept. */
const mostSteps = 16;
/** Recorded runs of a session, whose memory it keeps: a new one is opened then. */
const mostRecorded = 96;

/** Tensors that steps of up to as many rows take and give, which stay where they are. */
interface Board {
  readonly rows: number;
  readonly tensors: OnBoard;
}
type OnBoard = Readonly<Record<"step" | "drawn" | "probabilities" | "logits", DeviceTensor>>;

/** A step of some rows over the slots of one size, ready to be made again. */
interface Ready {
  readonly entries: DeviceEntries;
  readonly binding: Binding;
  readonly up: Prepared;
  readonly down: Prepared;
  readonly step: Float32Array;
  readonly drawn: Float32Array;
  readonly views: OnBoard;
}

/** Decoding steps on a device. Nothing crosses but five numbers of each row and four of what it drew; a step that repeats is recorded. */
export class DeviceDecoder {
  readonly #config: ModelConfig;
  readonly #weights: DeviceWeights;
  readonly #memory: DeviceMemory;
  readonly #options: SessionOptions & { readonly provider: Provider };
  /** By rows and slots. */
  readonly #ready = new Recent<Ready>(mostSteps, released);
  readonly #ranges = new Map<number, DeviceTensor>();
  #session: Session;
  #opened: number;
  #board: Board | undefined;

  private constructor(
    config: ModelConfig,
    weights: DeviceWeights,
    options: SessionOptions & { readonly provider: Provider },
    { memory, session }: { readonly memory: DeviceMemory; readonly session: Session },
  ) {
    this.#config = config;
    this.#weights = weights;
    this.#options = options;
    this.#memory = memory;
    this.#session = session;
    this.#opened = recorded;
  }

  static async open(
    config: ModelConfig,
    weights: DeviceWeights,
    options: SessionOptions & { readonly provider: Provider },
  ): Promise<DeviceDecoder> {
    const memory = await DeviceMemory.of(options.provider);
    const session = await openSteps(config, options);
    return new DeviceDecoder(config, weights, options, { memory, session });
  }

  /** One token of each row, in the order of their slots, of which there are as many as `rowsFor` says. */
  async step(rows: readonly DecodedRow[], slots: DeviceSlots): Promise<Decoded> {
    const { up, binding, down, step, drawn } = await this.#readied(rowsFor(rows.length), slots);
    step.fill(0);
    rows.forEach(({ token, position, uniform, temperature }, r) => {
      const greedy = temperature === 0;
      step.set([token, position, greedy ? 0 : uniform, greedy ? 1 : 1 / temperature, greedy ? 1 : 0], r * taken);
    });
    up.run();
    binding.runHere();
    down.run();
    return { drawn, lines: (some) => this.#linesOf(some) };
  }

  /** Forgets all steps, where weights have moved. */
  forgetAll(): void {
    this.#ready.drop();
  }

  /** Forgets the steps over slots that are given back. */
  forget(entries: DeviceEntries): void {
    this.#ready.drop((_, ready) => ready.entries === entries);
  }

  async close(): Promise<void> {
    this.#dropAll();
    for (const range of this.#ranges.values()) range.dispose();
    this.#ranges.clear();
    await this.#session.close();
  }

  async #linesOf(rows: readonly number[]): Promise<{ probabilities: Float32Array; logits: Float32Array }> {
    const board = this.#board;
    if (board === undefined) throw new RangeError("lines of no step");
    const [ids, numbers] = [Int32Array.from(rows), rows.length * this.#config.vocabSize];
    const read = (matrix: DeviceTensor) => this.#memory.rows(matrix, ids, new Float32Array(numbers));
    return { probabilities: await read(board.tensors.probabilities), logits: await read(board.tensors.logits) };
  }

  async #readied(rows: number, slots: DeviceSlots): Promise<Ready> {
    const { entries } = slots;
    if (entries === undefined || rows > slots.slots) throw new RangeError(`a step of ${rows} rows over ${slots.slots} slots`);
    const key = `${rows} ${entries.id}`;
    const known = this.#ready.get(key);
    if (known !== undefined) return known;
    if (recorded - this.#opened >= mostRecorded) await this.#reopen();
    return this.#ready.add(key, await this.#prepare(rows, slots.capacity, entries));
  }

  async #prepare(rows: number, capacity: number, entries: DeviceEntries): Promise<Ready> {
    const { layers, kvHeads, headDim } = this.#config;
    const { tensors } = this.#boardFor(rows);
    const views = this.#onBoard((name, width) => tensors[name].view([rows, width]));
    const { step, ...outputs } = views;
    const held = entries.view([rows, kvHeads, headDim, capacity]);
    const named = (prefix: string): [string, DeviceTensor][] =>
      held.map((tensor, i) => [`${prefix}${i < layers ? `Keys${i}` : `Values${i - layers}`}`, tensor]);
    const tables: [string, DeviceTensor][] = [];
    for (const [name, table] of Object.entries(rotationFeeds(this.#config, capacity)))
      tables.push([name, await this.#memory.constant(table)]);
    const feeds = {
      ...this.#weights.tensors,
      ...Object.fromEntries([...tables, ...named("")]),
      step,
      range: await this.#range(capacity),
    };
    const into = { ...Object.fromEntries(named("new")), ...outputs };
    const binding = this.#session.bind(feeds, into, isGpu(this.#options.provider) ? ++recorded : undefined);
    const arrays = { step: new Float32Array(rows * taken), drawn: new Float32Array(rows * given) };
    const up = await this.#memory.writer(step, arrays.step);
    const down = await this.#memory.reader(views.drawn, arrays.drawn);
    return { entries, binding, up, down, ...arrays, views };
  }

  /** 0, 1, … up to a capacity. */
  async #range(capacity: number): Promise<DeviceTensor> {
    const known = this.#ranges.get(capacity);
    if (known !== undefined) return known;
    const made = await this.#memory.upload({ data: Float32Array.from({ length: capacity }, (_, i) => i), shape: [capacity] });
    this.#ranges.set(capacity, made);
    return made;
  }

  /** One of more rows takes the place of what steps of fewer have. */
  #boardFor(rows: number): Board {
    if (this.#board !== undefined && this.#board.rows >= rows) return this.#board;
    this.#dropAll();
    this.#board = { rows, tensors: this.#onBoard((_, width) => this.#memory.allocate([rows, width])) };
    return this.#board;
  }

  #onBoard(make: (name: keyof OnBoard, width: number) => DeviceTensor): OnBoard {
    const { vocabSize } = this.#config;
    return {
      step: make("step", taken),
      drawn: make("drawn", given),
      probabilities: make("probabilities", vocabSize),
      logits: make("logits", vocabSize),
    };
  }

  async #reopen(): Promise<void> {
    this.forgetAll();
    await this.#session.close();
    this.#session = await openSteps(this.#config, this.#options);
    this.#opened = recorded;
  }

  #dropAll(): void {
    this.forgetAll();
    for (const tensor of Object.values(this.#board?.tensors ?? {})) tensor.dispose();
    this.#board = undefined;
  }
}

function released({ binding, up, down, views }: Ready): void {
  for (const prepared of [binding, up, down]) prepared.release();
  for (const view of Object.values(views)) view.dispose();
}

function openSteps(config: ModelConfig, options: SessionOptions & { readonly provider: Provider }): Promise<Session> {
  const graph = decodeGraph({ ...config, lora: undefined }, parameterShapes(config));
  return Session.open(graph, { ...options, fewNodes: true, captured: isGpu(options.provider) });
}
