import { commonPrefix } from "../../../src/core/context.ts";
import type { Logprobs, Weights } from "../../../src/core/policy.ts";
import { present } from "../../../src/core/present.ts";
import type { ActionInContext, TokenId } from "../../../src/core/trajectory.ts";
import type { Datum } from "../client/index.ts";

/** Where the action tokens of a sample are: `length` targets from `start` of a datum. */
interface Span {
  readonly datum: number;
  readonly start: number;
  readonly length: number;
}

/** Samples as they travel. */
export interface Packed {
  readonly data: readonly Datum[];
  /** One for each sample. */
  readonly spans: readonly Span[];
}

/**
 * Packs samples into data. A sample whose context begins with all that a datum of its trajectory holds is appended to that datum: the turns
 * of a trajectory whose history only grows travel once. A rewritten history begins a datum of its own.
 */
export function packSamples(samples: readonly ActionInContext[]): Packed {
  const sequences: TokenId[][] = [];
  const open = new Map<string, { readonly datum: number; readonly tokens: TokenId[] }[]>();
  const spans = samples.map(({ trajectory, context, action }): Span => {
    const candidates = open.get(trajectory) ?? [];
    const ids = context.slice();
    let own = candidates.find(({ tokens }) => commonPrefix(ids, tokens) === tokens.length);
    if (own === undefined) {
      const tokens: TokenId[] = [];
      own = { datum: sequences.push(tokens) - 1, tokens };
      open.set(trajectory, [...candidates, own]);
    }
    for (const token of [...ids.slice(own.tokens.length), ...action]) own.tokens.push(token);
    return { datum: own.datum, start: context.length - 1, length: action.length };
  });
  return { data: sequences.map((sequence) => ({ tokens: sequence.slice(0, -1), targets: sequence.slice(1) })), spans };
}

/** From the log-probs of all targets to those of each sample's action. */
export function unpackLogprobs({ spans }: Packed, rows: Logprobs): number[][] {
  return spans.map(({ datum, start, length }) => present(rows[datum], "the log-probs of a datum").slice(start, start + length));
}

/** From the weights of each sample's action to those of all targets: 0 for what is no action. */
export function spreadWeights({ data, spans }: Packed, weights: Weights): number[][] {
  const rows = data.map(({ targets }) => new Array<number>(targets.length).fill(0));
  spans.forEach(({ datum, start }, sample) => {
    const own = present(weights[sample], "the weights of a sample");
    present(rows[datum], "a datum").splice(start, own.length, ...own);
  });
  return rows;
}

/** The number of different beginnings of the samples' sequences: the tokens of a pass that computes what they share once. */
export function distinctPrefixes(samples: readonly ActionInContext[]): number {
  const sequences = samples.map(({ context, action }) => [...context.slice(), ...action]).sort(compare);
  return sequences.reduce((sum, each, i) => sum + each.length - commonPrefix(sequences[i - 1] ?? [], each), 0);
}

function compare(a: readonly TokenId[], b: readonly TokenId[]): number {
  const at = commonPrefix(a, b);
  return (a[at] ?? -1) - (b[at] ?? -1);
}
