import type { Provider } from "../machine/device.ts";
import type { Binding } from "../machine/native/session.ts";
import { type DeviceTensor, HostTensor } from "../machine/native/tensor.ts";
import { Recent } from "../machine/recent.ts";
import { DeviceMemory } from "./device-memory.ts";
import { Graph } from "./graph.ts";
import { Session } from "./session.ts";

/** Where numbers lie in each tensor: number w of a token of a slot at slot · s + offsets[w] + token · t. */
export interface Layout {
  readonly slot: number;
  readonly offsets: Int32Array;
  readonly token: number;
}

/** Some tokens of one slot that are copied to a slot elsewhere. */
export interface Move {
  readonly fromSlot: number;
  readonly toSlot: number;
  /** As many as of any other move of the same copy. */
  readonly from: ArrayLike<number>;
  readonly to: ArrayLike<number>;
}

let made = 0;

/** Tensors of one size on a device, one for each kind of entry of each layer. To be disposed of by `EntryCopies.dispose`. */
export class DeviceEntries {
  readonly id = made++;
  /** Numbers of each. */
  readonly numbers: number;
  readonly #flat: readonly DeviceTensor[];
  readonly #views = new Recent<readonly DeviceTensor[]>(mostViews, disposeOf);

  constructor(flat: readonly DeviceTensor[], numbers: number) {
    this.#flat = flat;
    this.numbers = numbers;
  }

  get bytes(): number {
    return this.#flat.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The first numbers of each in a shape. */
  view(dims: readonly number[]): readonly DeviceTensor[] {
    const key = dims.join();
    return (
      this.#views.get(key) ??
      this.#views.add(
        key,
        this.#flat.map((tensor) => tensor.view(dims)),
      )
    );
  }

  dispose(): void {
    this.#views.drop();
    disposeOf(this.#flat);
  }
}

function disposeOf(tensors: readonly DeviceTensor[]): void {
  for (const tensor of tensors) tensor.dispose();
}

const mostViews = 32;
const mostBindings = 64;

/** Copies tokens of all entries at once, on the device: one run over all tensors, whose indices alone cross. */
export class EntryCopies {
  readonly #memory: DeviceMemory;
  readonly #count: number;
  readonly #copies: Session;
  readonly #zeros: Session;
  /** By the entries that a copy is from and to. */
  readonly #bindings = new Recent<Binding>(mostBindings, (binding) => binding.release());

  private constructor(memory: DeviceMemory, count: number, copies: Session, zeros: Session) {
    this.#memory = memory;
    this.#count = count;
    this.#copies = copies;
    this.#zeros = zeros;
  }

  /** @param count tensors of each of the entries that it copies */
  static async open(provider: Provider, count: number): Promise<EntryCopies> {
    const options = { provider, threads: 1, fewNodes: true };
    const memory = await DeviceMemory.of(provider);
    return new EntryCopies(
      memory,
      count,
      await Session.open(copyGraph(count), options),
      await Session.open(zeroGraph(), options),
    );
  }

  /** Zeros: what is not written yet is masked by a sum, which no other number than a finite one survives. */
  allocate(numbers: number): DeviceEntries {
    const sizes = { data: BigInt64Array.of(BigInt(numbers)), shape: [1] };
    const flat = Array.from({ length: this.#count }, () => this.#memory.allocate([numbers]));
    for (const tensor of flat) {
      const binding = this.#zeros.bind({ sizes }, { y: tensor });
      binding.runHere();
      binding.release();
    }
    return new DeviceEntries(flat, numbers);
  }

  copy(from: DeviceEntries, fromLayout: Layout, to: DeviceEntries, toLayout: Layout, moves: readonly Move[]): void {
    if (moves.length === 0 || moves[0].from.length === 0) return;
    const key = `${from.id} ${to.id}`;
    const binding = this.#bindings.get(key) ?? this.#bindings.add(key, this.#bind(from, to));
    const feed = (name: string, data: Int32Array, dims: readonly number[]) =>
      binding.input(name, new HostTensor("int32", data, dims));
    const sides = [
      { name: "from", layout: fromLayout, slotOf: (move: Move) => move.fromSlot, tokensOf: (move: Move) => move.from },
      { name: "to", layout: toLayout, slotOf: (move: Move) => move.toSlot, tokensOf: (move: Move) => move.to },
    ];
    for (const { name, layout, slotOf, tokensOf } of sides) {
      const count = moves[0].from.length;
      const places = new Int32Array(moves.length * count);
      moves.forEach((move, m) => {
        const [tokens, start] = [tokensOf(move), slotOf(move) * layout.slot];
        for (let t = 0; t < count; t++) places[m * count + t] = start + tokens[t] * layout.token;
      });
      feed(`${name}Places`, places, [moves.length, 1, count]);
      feed(`${name}Offsets`, layout.offsets, [1, layout.offsets.length, 1]);
    }
    binding.runHere();
  }

  dispose(entries: DeviceEntries): void {
    this.#bindings.drop((key) => key.split(" ").includes(String(entries.id)));
    entries.dispose();
  }

  async close(): Promise<void> {
    this.#bindings.drop();
    await this.#copies.close();
    await this.#zeros.close();
  }

  #bind(from: DeviceEntries, to: DeviceEntries): Binding {
    const [sources, targets] = [from.view([from.numbers]), to.view([to.numbers])];
    const named = (name: string, tensors: readonly DeviceTensor[]) => tensors.map((tensor, i) => [`${name}${i}`, tensor]);
    return this.#copies.bind(
      Object.fromEntries([...named("from", sources), ...named("to", targets)]),
      Object.fromEntries(named("copied", targets)),
    );
  }
}

function zeroGraph(): Graph {
  const g = new Graph();
  g.output("y", g.apply("zeros", [g.input("sizes", [1], "int64")], { shape: ["N"] })[0]);
  return g;
}

/** For each tensor: what is at some places is written to others of a second tensor, in place. */
function copyGraph(count: number): Graph {
  const g = new Graph();
  const indices = (name: string) => {
    const [places, offsets] = [g.input(`${name}Places`, ["M", 1, "N"], "int32"), g.input(`${name}Offsets`, [1, "W", 1], "int32")];
    return g.reshape(g.add(places, offsets), ["M*W*N"]);
  };
  const [source, target] = [indices("from"), indices("to")];
  for (let i = 0; i < count; i++) {
    const numbers = g.gather(g.input(`from${i}`, ["F"]), source);
    g.output(`copied${i}`, g.apply("scatterLast", [g.input(`to${i}`, ["T"]), target, numbers], {})[0]);
  }
  return g;
}
