import { DeviceMemory } from "../graph/device-memory.ts";
import { isGpu, type Provider, type SessionOptions } from "../machine/device.ts";
import { count, DeviceTensor } from "../machine/native/tensor.ts";
import { Turns } from "../machine/turns.ts";
import { type Arrays, copyOf, zerosOf } from "../model/arrays.ts";
import { rowsOf } from "./rows.ts";

/** Parameters as a run takes them: arrays, or tensors that are on its device. */
export type Placed = ReadonlyMap<string, Float32Array | DeviceTensor>;

export type DeviceTensors = ReadonlyMap<string, DeviceTensor>;
export type Shapes = ReadonlyMap<string, readonly number[]>;

/**
 * Parameters, gradients or moments by name, in the memory of what computes. On a GPU they cross once, when they are first asked for there. Arrays of them
 * are had by asking for a copy (`host`), so that nobody keeps numbers which a step has changed.
 */
export class ParameterStore {
  readonly shapes: Shapes;
  /** Undefined on the processor. */
  readonly provider: Provider | undefined;
  /** Undefined where the device alone has the numbers. */
  #host: Arrays | undefined;
  #device: Promise<DeviceTensors> | undefined;

  private constructor(
    shapes: Shapes,
    provider: Provider | undefined,
    numbers: { readonly host?: Arrays; readonly device?: DeviceTensors },
  ) {
    this.shapes = shapes;
    this.provider = provider;
    this.#host = numbers.host;
    this.#device = numbers.device && Promise.resolve(numbers.device);
  }

  /**
   * @param arrays on the processor they are the store's own, and changed in place
   * @param shapes of these names, and perhaps of others
   * @param options of the sessions that compute with them
   */
  static of(
    arrays: Arrays,
    shapes: Shapes,
    { provider, runtime }: Pick<SessionOptions, "provider" | "runtime"> = {},
  ): ParameterStore {
    const own = new Map([...arrays].map(([name, { length }]) => [name, shapes.get(name) ?? [length]]));
    const isThere = provider !== undefined && isGpu(provider) && runtime === undefined;
    return new ParameterStore(own, isThere ? provider : undefined, { host: arrays });
  }

  /** Zeros of the same names and sizes. */
  async zeros(): Promise<ParameterStore> {
    return new ParameterStore(this.shapes, this.provider, { host: await zerosOf(this.lengths) });
  }

  get names(): readonly string[] {
    return [...this.shapes.keys()];
  }

  get lengths(): readonly (readonly [name: string, length: number])[] {
    return this.names.map((name) => [name, this.length(name)]);
  }

  get bytes(): number {
    return 4 * numbersIn(this.shapes);
  }

  length(name: string): number {
    return count(this.shapes.get(name) ?? []);
  }

  /** As runs take them: valid until the store is disposed of, and always the numbers of now. */
  async placed(): Promise<Placed> {
    return this.provider === undefined ? this.arrays : this.onDevice();
  }

  /** @throws RangeError on the processor */
  onDevice(): Promise<DeviceTensors> {
    this.#device ??= this.#upload();
    return this.#device;
  }

  /** The numbers of now. On the processor they are the store's own, on a GPU a copy that later steps do not change. */
  async host(): Promise<Arrays> {
    if (this.#host !== undefined) return this.#host;
    const memory = await this.memory();
    const arrays = new Map<string, Float32Array>();
    for (const [name, tensor] of await this.onDevice())
      arrays.set(name, await memory.read(tensor, new Float32Array(this.length(name))));
    this.#host = arrays;
    return arrays;
  }

  /** As `host`, at once. @throws RangeError where the device alone has them */
  get arrays(): Arrays {
    if (this.#host === undefined) throw new RangeError("numbers that only the device has");
    return this.#host;
  }

  /** After runs that wrote to the device's tensors. */
  changed(): void {
    this.#host = undefined;
  }

  /** Overwrites all numbers. @param arrays one of each name and size */
  async write(arrays: Arrays): Promise<void> {
    if (this.#device === undefined) {
      const turns = new Turns();
      for (const [name, data] of this.arrays) {
        const source = sized(arrays, name, data.length);
        await turns.over(data.length, (from, to) => data.set(source.subarray(from, to), from));
      }
      return;
    }
    const memory = await this.memory();
    for (const [name, tensor] of await this.#device) await memory.write(tensor, sized(arrays, name, this.length(name)));
    this.changed();
  }

  /** A store of its own with the same numbers: on a GPU they are copied there. */
  async copy(): Promise<ParameterStore> {
    if (this.#device === undefined) return new ParameterStore(this.shapes, this.provider, { host: await copyOf(this.arrays) });
    const memory = await this.memory();
    const device = new Map<string, DeviceTensor>();
    for (const [name, tensor] of await this.#device) {
      const copied = memory.allocate(tensor.dims);
      device.set(name, copied);
      await memory.copy(tensor, copied);
    }
    return new ParameterStore(this.shapes, this.provider, { device });
  }

  /** Takes over the numbers of another store of these names and sizes. */
  async assign(other: ParameterStore): Promise<void> {
    if (this.#device === undefined || other.#device === undefined) return this.write(await other.host());
    const [memory, from] = [await this.memory(), await other.#device];
    for (const [name, tensor] of await this.#device) {
      const source = from.get(name);
      if (source === undefined) throw new RangeError(`no ${name}`);
      await memory.copy(source, tensor);
    }
    this.changed();
  }

  /** Frees the device's tensors. Arrays stay as they are. */
  async dispose(): Promise<void> {
    const device = this.#device;
    this.#device = undefined;
    for (const tensor of (await device)?.values() ?? []) tensor.dispose();
  }

  async #upload(): Promise<DeviceTensors> {
    const memory = await this.memory();
    const tensors = new Map<string, DeviceTensor>();
    for (const [name, data] of this.arrays)
      tensors.set(name, await memory.upload({ data, shape: this.shapes.get(name) ?? [data.length] }));
    return tensors;
  }

  /** The device's. @throws RangeError on the processor */
  memory(): Promise<DeviceMemory> {
    if (this.provider === undefined) throw new RangeError("the processor has no other memory");
    return DeviceMemory.of(this.provider);
  }
}

/** How many numbers there are of these shapes. */
export function numbersIn(shapes: Shapes): number {
  return [...shapes.values()].reduce((sum, shape) => sum + count(shape), 0);
}

export async function arrayOf(placed: Float32Array | DeviceTensor, provider: Provider): Promise<Float32Array> {
  if (!(placed instanceof DeviceTensor)) return placed;
  return (await DeviceMemory.of(provider)).read(placed, new Float32Array(count(placed.dims)));
}

/** As `rowsOf`, of a placed matrix. */
export async function placedRows(
  matrix: Float32Array | DeviceTensor,
  provider: Provider,
  ids: Int32Array,
  into: Float32Array,
  width: number,
): Promise<Float32Array> {
  if (!(matrix instanceof DeviceTensor)) return rowsOf(matrix, ids, into, width);
  return (await DeviceMemory.of(provider)).rows(matrix, ids, into);
}

function sized(arrays: Arrays, name: string, length: number): Float32Array {
  const data = arrays.get(name);
  if (data?.length !== length) throw new RangeError(`${name} of ${data?.length} numbers instead of ${length}`);
  return data;
}
