import type { TokenId } from "../../../src/core/trajectory.ts";
import { GrowableFloats } from "../machine/growable.ts";

/** Bytes that are kept where nothing else is said. Not a share of what is free: what is cached decides how sums are rounded, and a run is to be repeatable. */
export const defaultCacheBytes = 512 * 2 ** 20;

/** Numbers that a head has of a token in each layer. */
export interface EntrySizes {
  readonly keys: readonly number[];
  readonly values: readonly number[];
}

/** Keys and values of consecutive tokens of a sequence. Per layer [Hk, tokens, size]. */
export interface Segment {
  readonly tokens: readonly TokenId[];
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
  /** Holds the numbers of a large one, which are given back at once when it is dropped. */
  readonly memory?: GrowableFloats;
  /** Where they are on a device; there are no arrays then. */
  readonly places?: Places;
}

/** Tokens that a device holds beside its slots. */
export interface Places {
  readonly at: Int32Array;
  readonly bytes: number;
  part(from: number, to: number): Places;
  /** Gives them back, of all parts or of each. */
  free(): void;
}

/** Numbers from which on a segment has memory of its own: an allocation costs about 30 µs. */
const largeSegment = 2 ** 18;

/**
 * Makes a segment of zeros.
 * @param heads Hk
 * @param sizes numbers of a head of a token in each layer
 */
export function emptySegment(tokens: readonly TokenId[], heads: number, sizes: EntrySizes): Segment {
  let memory: GrowableFloats | undefined;
  const entries = entriesIn(heads * tokens.length, sizes, (count) => {
    if (count < largeSegment) return new Float32Array(count);
    memory = new GrowableFloats();
    return memory.first(count);
  });
  return { tokens, ...entries, memory };
}

/**
 * Keys and values of all layers, one behind the other in one array.
 * @param lines of each layer: heads × tokens, of all rows
 * @param sizes numbers of a line in each layer
 * @param numbersFor gives an array of that length
 */
export function entriesIn(
  lines: number,
  sizes: EntrySizes,
  numbersFor: (count: number) => Float32Array,
): { readonly keys: Float32Array[]; readonly values: Float32Array[] } {
  const numbers = numbersFor(lines * [...sizes.keys, ...sizes.values].reduce((sum, size) => sum + size, 0));
  let taken = 0;
  const next = (size: number) => numbers.subarray(taken, (taken += lines * size));
  return { keys: sizes.keys.map(next), values: sizes.values.map(next) };
}

/** A segment in the tree, after its parent's. Children differ in their first token. */
interface Node {
  segment: Segment;
  parent: Node | undefined;
  readonly children: Map<TokenId, Node>;
  /** Keys whose sequence runs through here. */
  users: number;
  usedAt: number;
}

/**
 * A radix tree of keys and values: what sequences share (the prompt of a group, the history of a rollout's turns, the stem of a fork) is
 * held once. Over the limit, what a slot holds too goes first, which costs nothing; then the segment that was used longest ago, those of
 * ended sequences first. It is computed again if it is needed.
 */
export class PrefixCache {
  readonly #heads: number;
  readonly #limit: number;
  readonly #root: Node = node({ tokens: [], keys: [], values: [] }, undefined, 0, 0);
  readonly #ends = new Map<string, Node>();
  /** Keys whose whole sequence is in a slot, which gives it back when its action ends. */
  readonly #inSlots = new Set<string>();
  #bytes = 0;
  #clock = 0;

  /** @param kvHeads Hk */
  constructor(kvHeads: number, limitBytes: number) {
    this.#heads = kvHeads;
    this.#limit = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Sequences that may still be continued. */
  get users(): number {
    return this.#ends.size;
  }

  /** The longest cached prefix, as segments and how many tokens of each belong to it. */
  longest(tokens: readonly TokenId[]): { readonly segment: Segment; readonly count: number }[] {
    const path = this.#walk(tokens);
    this.#touch(path.at(-1)?.node);
    return path.map(({ node: { segment }, count }) => ({ segment, count }));
  }

  /**
   * Keeps a sequence until `release(key)`, in place of the key's sequence before.
   * @param take copies keys and values from the given token to the last; called only where there are new ones
   */
  store(key: string, tokens: readonly TokenId[], take: (from: number) => Segment): void {
    const path = this.#walk(tokens);
    const held = path.reduce((sum, { count }) => sum + count, 0);
    const last = path.at(-1);
    let end = last?.node ?? this.#root;
    if (last !== undefined && last.count < end.segment.tokens.length) end = split(end, last.count, this.#heads);
    if (held < tokens.length) {
      const segment = take(held);
      end = node(segment, end, 0, 0);
      end.parent?.children.set(tokens[held], end);
      this.#bytes += bytesOf(segment);
    }
    for (let at: Node | undefined = end; at; at = at.parent) at.users++;
    this.release(key); // after the new one was counted, so that what both share stays
    this.#ends.set(key, end);
    this.#touch(end);
    this.makeRoom();
  }

  /** The number of tokens that are held of a key's sequence. */
  lengthOf(key: string): number {
    let tokens = 0;
    for (let at = this.#ends.get(key); at; at = at.parent) tokens += at.segment.tokens.length;
    return tokens;
  }

  /** Notes that a slot holds a key's whole sequence, until the key is stored again or released. */
  isInSlot(key: string): void {
    if (this.#ends.has(key)) this.#inSlots.add(key);
  }

  /** Drops what is over the limit. @param slotBytes bytes of the slots: what they hold too is dropped where both together are over it */
  makeRoom(slotBytes = 0): void {
    for (const key of this.#inSlots) {
      if (this.#bytes + slotBytes <= this.#limit) break;
      for (let at = this.#ends.get(key); at && this.#isOwn(at); at = this.#ends.get(key)) this.#drop(at);
      this.#inSlots.delete(key);
    }
    while (this.#bytes > this.#limit && this.#evictOne());
  }

  /** A sequence that will not be continued. It may still serve others, until room is needed. */
  release(key: string): void {
    for (let at = this.#ends.get(key); at; at = at.parent) at.users--;
    this.#ends.delete(key);
    this.#inSlots.delete(key);
  }

  clear(): void {
    giveBackBelow(this.#root);
    this.#root.children.clear();
    this.#ends.clear();
    this.#inSlots.clear();
    this.#bytes = 0;
  }

  #walk(tokens: readonly TokenId[]): { node: Node; count: number }[] {
    const path: { node: Node; count: number }[] = [];
    let at = 0;
    let here = this.#root;
    for (;;) {
      const child = here.children.get(tokens[at]);
      if (child === undefined) return path;
      const own = child.segment.tokens;
      let count = 0;
      while (at + count < tokens.length && own[count] === tokens[at + count]) count++;
      path.push({ node: child, count });
      if (count < own.length) return path;
      at += count;
      here = child;
    }
  }

  #touch(end: Node | undefined): void {
    this.#clock++;
    for (let at = end; at; at = at.parent) at.usedAt = this.#clock;
  }

  /** @returns whether there was anything to drop */
  #evictOne(): boolean {
    const isBefore = (a: Node, b: Node) => (Math.sign(a.users) - Math.sign(b.users) || a.usedAt - b.usedAt) < 0;
    const oldest = leavesOf(this.#root).reduce((best, leaf) => (isBefore(leaf, best) ? leaf : best));
    if (oldest !== this.#root) this.#drop(oldest);
    return oldest !== this.#root;
  }

  /** Whether a segment serves one sequence alone, and nothing is behind it. */
  #isOwn({ parent, children, users }: Node): boolean {
    return parent !== undefined && children.size === 0 && users === 1;
  }

  /** @param leaf not the root */
  #drop(leaf: Node): void {
    const { parent, segment } = leaf;
    if (parent === undefined) return;
    parent.children.delete(segment.tokens[0]);
    this.#bytes -= bytesOf(segment);
    giveBack(segment);
    for (const [key, end] of this.#ends) if (end === leaf) this.#ends.set(key, parent);
  }
}

/** Nodes without children, in the order of a walk through the tree. */
function leavesOf(at: Node): Node[] {
  return at.children.size === 0 ? [at] : [...at.children.values()].flatMap(leavesOf);
}

function node(segment: Segment, parent: Node | undefined, users: number, usedAt: number): Node {
  return { segment, parent, children: new Map(), users, usedAt };
}

/** Cuts a node in two. @returns the new one, which holds the first tokens and takes the old one's place */
function split(lower: Node, count: number, heads: number): Node {
  const { segment, parent, users, usedAt } = lower;
  const upper = node(part(segment, 0, count, heads), parent, users, usedAt);
  parent?.children.set(segment.tokens[0], upper);
  lower.segment = part(segment, count, segment.tokens.length, heads);
  lower.parent = upper;
  upper.children.set(lower.segment.tokens[0], lower);
  segment.memory?.resize(0);
  return upper;
}

function part({ tokens, keys, values, places }: Segment, from: number, to: number, heads: number): Segment {
  if (places !== undefined) return { tokens: tokens.slice(from, to), keys, values, places: places.part(from, to) };
  const sizeOf = ({ length }: Float32Array) => length / heads / tokens.length;
  const some = emptySegment(tokens.slice(from, to), heads, { keys: keys.map(sizeOf), values: values.map(sizeOf) });
  const cut = (arrays: readonly Float32Array[], into: readonly Float32Array[]) =>
    arrays.forEach((array, layer) => {
      const [line, size] = [array.length / heads, sizeOf(array)];
      for (let head = 0; head < heads; head++)
        into[layer].set(array.subarray(head * line + from * size, head * line + to * size), head * (to - from) * size);
    });
  cut(keys, some.keys);
  cut(values, some.values);
  return some;
}

function giveBackBelow({ children }: Node): void {
  for (const child of children.values()) {
    giveBack(child.segment);
    giveBackBelow(child);
  }
}

function giveBack({ memory, places }: Segment): void {
  memory?.resize(0);
  places?.free();
}

function bytesOf({ keys, values, places }: Segment): number {
  if (places !== undefined) return places.bytes;
  return [...keys, ...values].reduce((sum, array) => sum + array.byteLength, 0);
}
