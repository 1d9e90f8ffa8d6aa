import { commonPrefix } from "../../../src/core/context.ts";
import type { Logprobs, Weights } from "../../../src/core/policy.ts";
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
  const open = new Map<string, number[]>();
  const spans = samples.map(({ trajectory, context, action }): Span => {
    const candidates = open.get(trajectory) ?? [];
    const ids = context.slice();
    let datum = candidates.find((each) => commonPrefix(ids, sequences[each]) === sequences[each].length);
    if (datum === undefined) {
      datum = sequences.push([...ids]) - 1;
      open.set(trajectory, [...candidates, datum]);
    } else for (let i = sequences[datum].length; i < ids.length; i++) sequences[datum].push(ids[i]);
    for (const token of action) sequences[datum].push(token);
    return { datum, start: context.length - 1, length: action.length };
  });
  return { data: sequences.map((sequence) => ({ tokens: sequence.slice(0, -1), targets: sequence.slice(1) })), spans };
}

/** From the log-probs of all targets to those of each sample's action. */
export function unpackLogprobs({ spans }: Packed, rows: Logprobs): number[][] {
  return spans.map(({ datum, start, length }) => rows[datum].slice(start, start + length));
}

/** From the weights of each sample's action to those of all targets: 0 for what is no action. */
export function spreadWeights({ data, spans }: Packed, weights: Weights): number[][] {
  const rows = data.map(({ targets }) => new Array<number>(targets.length).fill(0));
  spans.forEach(({ datum, start }, sample) => {
    for (const [j, weight] of weights[sample].entries()) rows[datum][start + j] += weight;
  });
  return rows;
}

/** The number of different beginnings of the samples' sequences: the tokens of a pass that computes what they share once. */
export function distinctPrefixes(samples: readonly ActionInContext[]): number {
  const sequences = samples.map(({ context, action }) => [...context.slice(), ...action]).sort(compare);
  return sequences.reduce((sum, each, i) => sum + each.length - (i === 0 ? 0 : commonPrefix(sequences[i - 1], each)), 0);
}

function compare(a: readonly TokenId[], b: readonly TokenId[]): number {
  const at = commonPrefix(a, b);
  return (a[at] ?? -1) - (b[at] ?? -1);
}
