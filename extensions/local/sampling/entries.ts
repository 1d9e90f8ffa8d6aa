import type { TokenId } from "../../../src/core/trajectory.ts";
import type { DeviceEntries } from "../graph/device-entries.ts";
import type { GrowableFloats } from "../machine/growable.ts";
import type { DeviceTensor } from "../machine/native/tensor.ts";
import type { LayerType } from "../model/architectures.ts";
import type { EntrySizes, Segment } from "./prefix-cache.ts";

export interface CacheShape {
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly hiddenSize?: number;
  readonly layerTypes?: readonly LayerType[];
}

/** A convolution has values that it adds up instead of keys, cut into as many heads, and nothing else. */
export function entrySizes({ layers, kvHeads, headDim, hiddenSize = 0, layerTypes }: CacheShape): EntrySizes {
  const of = (attention: number, convolution: number) =>
    Array.from({ length: layers }, (_, layer) => (layerTypes?.[layer] === "conv" ? convolution : attention));
  return { keys: of(headDim, hiddenSize / kvHeads), values: of(headDim, 0) };
}

/** Bytes of the keys and values of a token, in all layers. */
export function cacheBytesOfToken(shape: CacheShape): number {
  const { keys, values } = entrySizes(shape);
  return Float32Array.BYTES_PER_ELEMENT * shape.kvHeads * [...keys, ...values].reduce((sum, size) => sum + size, 0);
}

/** Keys and values of tokens, one array a layer. */
export interface HostEntries {
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
}

/** Keys and values of tokens, one array or tensor a layer. */
export interface Entries {
  readonly keys: readonly (Float32Array | DeviceTensor)[];
  readonly values: readonly (Float32Array | DeviceTensor)[];
  /** Where they are on a device. */
  readonly device?: DeviceEntries;
}

/** New tokens of the rows of a step. Per layer [R, Hk, chunk, size]. */
export interface NewEntries extends Entries {
  readonly chunk: number;
}

/** The first `count` of the new tokens of a row of a step, for a slot that holds `length`. */
export interface Appended {
  readonly slot: number;
  readonly length: number;
  readonly row: number;
  readonly count: number;
}

/**
 * Slots of equal capacity with the keys and values of a row each. There are as many as rows need, side by side. What moves numbers lets the event loop
 * turn: only one such call is made at a time.
 */
export interface SlotEntries {
  /** Tokens that every slot has room for. */
  readonly capacity: number;
  /** Bytes of all keys and values. */
  readonly bytes: number;
  /** Makes room for this many tokens in each of this many slots, keeping what is there; in steps, so that it is rare. */
  reserve(slots: number, tokens: number): Promise<void>;
  /** Gives slots back where a quarter of them would do for the rows that are left. */
  shrink(slots: number): Promise<void>;
  /** Gives back all slots but those of this many rows. */
  fit(rows: number): Promise<void>;
  /** Gives all memory back. */
  clear(): void;
  append(rows: readonly Appended[], from: NewEntries): Promise<void>;
  copy(from: number, to: number, tokens: number): Promise<void>;
  /** Copies the first tokens of a slot of another cache, or of this one. */
  copyFrom(other: SlotEntries, from: number, to: number, tokens: number): Promise<void>;
  /** A copy of a slot's tokens from the given one on. @param tokens all that the slot holds */
  take(slot: number, tokens: readonly TokenId[], from: number): Segment;
  /** Puts the first `count` tokens of a segment into a slot, behind `length` others. */
  put(slot: number, length: number, segment: Segment, count: number): Promise<void>;
}

export interface Located {
  readonly cache: SlotEntries;
  readonly slot: number;
}

/** Where keys and values are: in the processor's memory, or on a device. */
export interface EntryMemory {
  newSlots(): SlotEntries;
  /**
   * A copy of the first tokens of some slots, side by side: per layer [rows, Hk, tokens, size], valid until the next one. Slots with fewer tokens have
   * any numbers behind them.
   * @param floats the copy's memory, where that is the processor's
   */
  gather(slots: readonly Located[], tokens: number, floats: GrowableFloats): Promise<Entries>;
  /** Slots side by side as they stand, per layer [rows, Hk, capacity, size]. Undefined where that would be a copy. */
  view(first: Located, rows: number): HostEntries | undefined;
}

/** Tokens that a slot has room for where it holds this many: in steps, so that growing is rare. */
export function capacityFor(tokens: number): number {
  const step = tokens <= 1024 ? 64 : 256;
  return Math.ceil(tokens / step) * step;
}
