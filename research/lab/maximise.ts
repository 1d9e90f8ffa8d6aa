/**
 * The clipped surrogate of one simplex, in the ratios ρ_a = π(a)/π_old(a):
 *
 *   F(ρ) = Σ_a  gain_a · min(ρ_a, 1+ε)  +  loss_a · max(ρ_a, 1−ε)          Σ_a old_a ρ_a = 1,  old_a ρ_a ≥ floor_a
 *
 * gain_a ≥ 0 and loss_a ≤ 0 are the sums of weight · advantage over the samples of action a with positive and with negative advantage.
 */
export interface ClippedSimplex {
  readonly gain: ArrayLike<number>;
  readonly loss: ArrayLike<number>;
  /** π_old, a distribution: what a unit of ρ_a costs. */
  readonly old: ArrayLike<number>;
}

export interface MaximiseOptions {
  readonly low: number;
  readonly high: number;
  /** No probability goes below this, or below the old one where that is lower: a softmax table has no zeros. */
  readonly floor: number;
}

interface Piece {
  readonly action: number;
  /** Gain per unit of probability, in whole units of 1e-12 of the largest: sums that are equal but for rounding are ties. */
  readonly slope: number;
  /** ρ where the piece begins. */
  readonly from: number;
  /** Probability that it can take. */
  readonly room: number;
}

/**
 * The distribution that maximises F: each action's part is concave and piecewise linear in ρ_a, with slopes gain, gain + loss and loss (per
 * π_old) below 1−ε, between, and above 1+ε. So probability is dealt out to the pieces by slope, the steepest first, which is exact.
 * Flat parts leave a choice. Ours is fixed and the same under any renaming of actions: of equal slopes the piece that begins at the lower
 * ratio comes first (pieces also end at ρ = 1), so that what need not move does not; equal pieces are filled in proportion to their room.
 */
export function maximiseClipped({ gain, loss, old }: ClippedSimplex, { low, high, floor }: MaximiseOptions): Float64Array {
  const count = old.length;
  const result = new Float64Array(count);
  let left = 1;
  let steepest = 0;
  for (let a = 0; a < count; a++) {
    result[a] = Math.min(floor, old[a]);
    left -= result[a];
    if (old[a] > 0) steepest = Math.max(steepest, gain[a] / old[a], -loss[a] / old[a]);
  }
  if (steepest === 0) return Float64Array.from(old);
  const bounds = [0, 1 - low, 1, 1 + high, Infinity];
  const pieces: Piece[] = [];
  for (let a = 0; a < count; a++) {
    if (old[a] === 0) continue;
    const filled = result[a] / old[a];
    for (let i = 0; i < 4; i++) {
      const room = (bounds[i + 1] - Math.max(bounds[i], filled)) * old[a];
      const slope = i === 0 ? gain[a] : i === 3 ? loss[a] : gain[a] + loss[a];
      if (room > 0) pieces.push({ action: a, slope: Math.round((slope / old[a] / steepest) * 1e12), from: bounds[i], room });
    }
  }
  pieces.sort((a, b) => b.slope - a.slope || a.from - b.from);
  for (let i = 0; i < pieces.length && left > 0; ) {
    let next = i;
    let room = 0;
    while (next < pieces.length && pieces[next].slope === pieces[i].slope && pieces[next].from === pieces[i].from)
      room += pieces[next++].room;
    if (room === Infinity) {
      let tied = 0;
      for (let j = i; j < next; j++) tied += old[pieces[j].action];
      for (let j = i; j < next; j++) result[pieces[j].action] += (left * old[pieces[j].action]) / tied;
      return result;
    }
    const share = Math.min(1, left / room);
    for (let j = i; j < next; j++) result[pieces[j].action] += share * pieces[j].room;
    left -= share * room;
    i = next;
  }
  return result;
}
