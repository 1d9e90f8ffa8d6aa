import { ShapeError } from "./errors.ts";
import type { Message } from "./messages.ts";

/** An index into a model's vocabulary. */
export type TokenId = number;

/** Token ids in their order: an array of them, or a `Context`. */
export interface Tokens extends Iterable<TokenId> {
  readonly length: number;
  /** As an array's: negative ends count from the last id. */
  slice(start?: number, end?: number): readonly TokenId[];
}

/**
 * The ids that a model saw, as a node of a tree: a node contains the ids that follow its parent's, and never changes. The turns of a
 * trajectory, its forks, histories that a template rewrote or an agent compacted, and those of sub-agents are branches, so a batch takes as
 * much memory as it has distinct tokens.
 * @example
 * const prompt = Context.of([1, 2, 3]);
 * const turn = prompt.extend([4, 5]); // an action
 * const rewritten = turn.branch([1, 2, 9]); // shares the ids 1 and 2
 * [turn.length, ...rewritten]; // 5, 1, 2, 9
 */
export class Context implements Tokens {
  readonly parent: Context | undefined;
  /** Its own ids, which follow the parent's. */
  readonly ids: Int32Array;
  /** The messages that its own ids show. */
  readonly messages: readonly Message[];
  /** Ids from the root to here. */
  readonly length: number;

  private constructor(parent: Context | undefined, ids: Int32Array, messages: readonly Message[]) {
    this.parent = parent;
    this.ids = ids;
    this.messages = messages;
    this.length = (parent?.length ?? 0) + ids.length;
  }

  /**
   * Returns a root.
   * @throws ShapeError for an id that is not a whole number from 0
   * @example
   * const prompt = Context.of([1, 2, 3]);
   * const second = prompt.extend([4, 5]); // an action
   * [...second]; // [1, 2, 3, 4, 5]
   */
  static of(ids: Iterable<TokenId>, messages: readonly Message[] = []): Context {
    return new Context(undefined, wholeIds(ids), messages);
  }

  /** Returns the context that these ids are, or a root of them. */
  static from(ids: Tokens): Context {
    return ids instanceof Context ? ids : Context.of(ids);
  }

  /** Returns this context continued by these ids. */
  extend(ids: Iterable<TokenId>, messages: readonly Message[] = []): Context {
    return new Context(this, wholeIds(ids), messages);
  }

  /**
   * Returns a context of exactly these ids, as a branch of this one where the two stop being equal: a history that was rewritten.
   * @param messages of the whole conversation
   */
  branch(ids: readonly TokenId[], messages: readonly Message[] = []): Context {
    const shared = this.prefix(commonPrefix(this, ids));
    const rest = messages.slice(shared?.conversation().length ?? 0);
    return new Context(shared, wholeIds(ids.slice(shared?.length ?? 0)), rest);
  }

  /** Returns the first `length` ids; undefined if these are none. A node that is cut in two keeps its messages to itself. */
  prefix(length: number): Context | undefined {
    if (length <= 0) return undefined;
    for (let node: Context | undefined = this; node !== undefined; node = node.parent) {
      const start = node.parent?.length ?? 0;
      if (length >= node.length) return node;
      if (length > start) return new Context(node.parent, node.ids.subarray(0, length - start), []);
    }
    return undefined;
  }

  /** Returns the nodes from the root to this one. */
  path(): Context[] {
    const path: Context[] = [];
    for (let node: Context | undefined = this; node !== undefined; node = node.parent) path.push(node);
    return path.reverse();
  }

  /** Returns the messages of all nodes from the root to this one. */
  conversation(): Message[] {
    return this.path().flatMap(({ messages }) => messages);
  }

  slice(start = 0, end = this.length): TokenId[] {
    const from = start < 0 ? Math.max(0, this.length + start) : Math.min(start, this.length);
    const to = end < 0 ? this.length + end : Math.min(end, this.length);
    const ids = new Array<TokenId>(Math.max(0, to - from));
    for (let node: Context | undefined = this; node !== undefined && node.length > from; node = node.parent) {
      const first = node.length - node.ids.length;
      for (let at = Math.max(from, first); at < Math.min(to, node.length); at++) ids[at - from] = node.ids[at - first] as TokenId;
    }
    return ids;
  }

  [Symbol.iterator](): ArrayIterator<TokenId> {
    return this.slice()[Symbol.iterator]();
  }

  /** An array, so that a context in JSON is the ids that it has. */
  toJSON(): TokenId[] {
    return this.slice();
  }
}

/** An array of integers would cut off fractions without a word. */
function wholeIds(ids: Iterable<TokenId>): Int32Array {
  const list = Array.isArray(ids) ? (ids as readonly TokenId[]) : [...ids];
  const whole = Int32Array.from(list);
  const wrong = whole.findIndex((id, i) => id !== list[i] || id < 0);
  if (wrong >= 0) throw new ShapeError("token id", list[wrong], { expected: "a whole number from 0" });
  return whole;
}

/**
 * Returns the length of the longest common prefix. Nodes that two contexts share are not compared.
 * @example
 * commonPrefix([1, 2, 3, 4], [1, 2, 9]); // 2
 */
export function commonPrefix(a: Tokens, b: Tokens): number {
  const known = a instanceof Context && b instanceof Context ? (sharedNode(a, b)?.length ?? 0) : 0;
  const shorter = Math.min(a.length, b.length);
  const own: readonly TokenId[] = Array.isArray(a) ? a : a.slice(known, shorter);
  const other: readonly TokenId[] = Array.isArray(b) ? b : b.slice(known, shorter);
  let length = 0;
  while (length < shorter - known && own[length] === other[length]) length++;
  return known + length;
}

/** Returns the last node that both have on their way from the root. */
function sharedNode(a: Context, b: Context): Context | undefined {
  let [one, two]: (Context | undefined)[] = [a, b];
  while (one !== two) {
    if (one === undefined || two === undefined) return undefined;
    if (one.length > two.length) one = one.parent;
    else if (two.length > one.length) two = two.parent;
    else [one, two] = [one.parent, two.parent];
  }
  return one;
}
