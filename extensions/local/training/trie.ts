import { Context } from "../../../src/core/context.ts";
import type { ActionInContext, TokenId } from "../../../src/core/trajectory.ts";

/** Tokens of the trie between two points where something ends or divides. */
export class Branch {
  parent: Branch | undefined;
  /** Its own tokens: a view of a context's where that has them. */
  tokens: Int32Array;
  /** Depth of its last token, counted from 1: the length of a sample that ends here. */
  readonly end: number;
  /** By their first token. */
  readonly children = new Map<TokenId, Branch>();
  /** Indices of the samples whose last context or action token but one is this branch's last. */
  readonly samples: number[] = [];

  constructor(parent: Branch | undefined, tokens: Int32Array) {
    this.parent = parent;
    this.tokens = tokens;
    this.end = (parent?.end ?? 0) + tokens.length;
  }

  get start(): number {
    return this.end - this.tokens.length;
  }
}

/**
 * All samples as one trie, their last tokens left out. It is read off the tree of contexts: each node of it is compared with the trie once,
 * from where its parent ends, so the time and memory are linear in the tokens of the tree. Histories that are equal, id for id, without
 * sharing nodes (the prompts of a group's rollouts) are one branch too.
 * @param samples with a context and an action of at least one token each
 */
export function buildTrie(samples: readonly ActionInContext[]): Trie {
  const trie = new Trie();
  samples.forEach(({ context, action }, index) => {
    const before =
      context instanceof Context ? trie.branchOf(context) : trie.insert(trie.root, 0, Int32Array.from(context.slice()));
    const last = trie.insert(before, context.length, Int32Array.from(action.slice(0, -1)));
    trie.endAt(last, context.length + action.length - 1, index);
  });
  return trie;
}

class Trie {
  readonly root = new Branch(undefined, new Int32Array(0));
  /** The branch that a context's last token was put in. It may have been cut since: then the token is in one of its ancestors. */
  readonly #branches = new Map<Context, Branch>();

  /** Returns the branch that contains the context's last token, which is put there if it is new. */
  branchOf(context: Context): Branch {
    const missing: Context[] = [];
    let known: Context | undefined = context;
    while (known !== undefined && !this.#branches.has(known)) {
      missing.push(known);
      known = known.parent;
    }
    let branch = (known && this.#branches.get(known)) ?? this.root;
    for (const node of missing.reverse()) {
      branch = this.insert(branch, node.length - node.ids.length, node.ids);
      this.#branches.set(node, branch);
    }
    return branch;
  }

  /** Puts tokens behind the first `depth` ones of a branch. @returns the branch that contains the last of them */
  insert(from: Branch, depth: number, tokens: Int32Array): Branch {
    let branch = containing(from, depth);
    for (let i = 0; i < tokens.length; ) {
      const at = depth + i - branch.start;
      if (at < branch.tokens.length) {
        if (branch.tokens[at] === tokens[i]) i++;
        else branch = this.#cut(branch, at);
        continue;
      }
      const next = branch.children.get(tokens[i]);
      if (next === undefined) {
        // What is known of them already is not kept a second time.
        const added = new Branch(branch, i === 0 ? tokens : tokens.slice(i));
        branch.children.set(tokens[i], added);
        return added;
      }
      branch = next;
    }
    return branch;
  }

  /** Notes that a sample ends after the first `depth` tokens of a branch. */
  endAt(from: Branch, depth: number, sample: number): void {
    const branch = containing(from, depth);
    const end = depth < branch.end ? this.#cut(branch, depth - branch.start) : branch;
    end.samples.push(sample);
  }

  /** Every branch before its children, and these by their first tokens. */
  *inOrder(): Generator<Branch> {
    const waiting = [this.root];
    for (let branch = waiting.pop(); branch !== undefined; branch = waiting.pop()) {
      yield branch;
      for (const [, child] of [...branch.children].sort(([a], [b]) => b - a)) waiting.push(child);
    }
  }

  /** Cuts a branch in two. What knew it knows the lower half from now on. @returns the upper half, its first `count` tokens */
  #cut(branch: Branch, count: number): Branch {
    const upper = new Branch(branch.parent, branch.tokens.subarray(0, count));
    branch.parent?.children.set(upper.tokens[0], upper);
    branch.parent = upper;
    branch.tokens = branch.tokens.subarray(count);
    upper.children.set(branch.tokens[0], branch);
    return upper;
  }
}

/** Returns the branch on the way to this one that contains the token at a depth, counted from 1; the root for 0. */
function containing(from: Branch, depth: number): Branch {
  let branch = from;
  while (branch.parent !== undefined && branch.start >= depth) branch = branch.parent;
  return branch;
}

/** Returns the number of tokens that the ways from the root to both have in common. */
export function sharedDepth(a: Branch, b: Branch): number {
  let [one, two] = [a, b];
  while (one !== two) {
    const further = one.end >= two.end;
    if (further && one.parent !== undefined) one = one.parent;
    else if (two.parent !== undefined) two = two.parent;
    else return 0;
  }
  return one.end;
}

/** Writes the tokens on the way to a branch, those after the first `from`, into an array. */
export function writeTokens(branch: Branch, from: number, into: Int32Array, at: number): void {
  for (let node: Branch | undefined = branch; node !== undefined && node.end > from; node = node.parent) {
    const skipped = Math.max(0, from - node.start);
    into.set(node.tokens.subarray(skipped), at + node.start + skipped - from);
  }
}
