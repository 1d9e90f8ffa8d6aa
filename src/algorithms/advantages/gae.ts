import { z } from "zod";
import { ShapeError } from "../../core/errors.ts";
import type { SettingsOf } from "../../core/kinds.ts";
import type { MetricValues } from "../metrics.ts";
import { type TokenRows, total } from "../objectives/objective.ts";
import { type Episode, spread, trajectoryEnds, turnsOf } from "../step/episodes.ts";
import { checkedRows, fixedRows } from "../step/minimise.ts";
import { defineAdvantage, discount, type Evidence, episodesOf, tokenRewards } from "./advantage.ts";
import { criticOf, fitCritic } from "./critic.ts";
import { whitened } from "./statistics.ts";

/**
 * Generalised advantage estimation (arXiv:1506.02438, eq. 16).
 *
 *   δ_k = r_k + γ V_{k+1} − V_k         A_k = δ_k + γλ A_{k+1}         V and A are 0 after the last
 *
 * The steps k are action tokens, or turns: what the environment wrote in between is no step and is not discounted.
 * @param rewards r_k; values V_k of the state before step k, in units of the return
 * @param ends whether a row is the last of its trajectory, which continues in the next row where it is not; all rows if left out
 * @returns advantages, and the returns A_k + V_k that the critic is fitted to
 * @throws ShapeError if rows do not fit each other
 */
export function gae(
  rewards: TokenRows,
  values: TokenRows,
  { gamma, lambda }: { readonly gamma: number; readonly lambda: number },
  ends?: readonly boolean[],
): { advantages: number[][]; returns: number[][] } {
  const advantages = new Array<number[]>(rewards.length);
  const returns = new Array<number[]>(rewards.length);
  let nextValue = 0;
  let next = 0;
  for (let b = rewards.length - 1; b >= 0; b--) {
    const [r, v] = [rewards[b], values[b]];
    if (r.length !== v.length) throw new ShapeError(`number of values in row ${b}`, v.length, { expected: [r.length] });
    const [a, g] = [v.slice(), v.slice()]; // copies hold floating-point numbers from the start, which fresh arrays do not
    if (ends?.[b] !== false) nextValue = next = 0;
    for (let k = r.length - 1; k >= 0; k--) {
      next = r[k] + gamma * nextValue - v[k] + gamma * lambda * next;
      nextValue = v[k];
      a[k] = next;
      g[k] = next + v[k];
    }
    advantages[b] = a;
    returns[b] = g;
  }
  return { advantages, returns };
}

const settings = {
  /** The unit that is a step: an action token, or a whole turn. */
  over: z.enum(["token", "turn"]).default("token"),
  /** γ = λ = 1: verl's defaults, for a return at the end. */
  gamma: discount(1),
  lambda: discount(1),
  critic: z
    .strictObject({
      /**
       * The critic's learning rate as a multiple of the policy's. 1, one rate for both: PPO (arXiv:1707.06347). verl's launch
       * files have 10 (1e-5 and 1e-6).
       */
      learningRateScale: z.number().positive().default(1),
      /** Width around the old value, in units of the return. 0.5: verl's `cliprange_value`. */
      valueClip: z.number().positive().default(0.5),
    })
    .prefault({}),
};

export const gaeKind = defineAdvantage({
  kind: "gae",
  formula: "each token (or turn) by generalised advantage estimation with a critic, whitened over the batch",
  source: "arXiv:1506.02438",
  comparedWithin: "batch",
  readsTurnRewards: true,
  capabilities: ["critic"],
  metrics: {
    valueLoss: { fold: "mean", meaning: "PPO: the critic's loss before each of its steps, in squared units of the return." },
    valueClipFraction: {
      fold: "mean",
      meaning: "PPO: share of values that had moved beyond the clip range: they have no gradient.",
    },
    explainedVariance: {
      fold: "mean",
      meaning: "PPO: 1 − var(G − V)/var(G) before the update: 1 for a perfect critic, 0 for a constant one.",
    },
    criticGradientNorm: { fold: "mean", meaning: "PPO: norm of the critic's gradient before clipping." },
  },
  settings,
  estimate: async (evidence, config) => {
    const critic = criticOf(evidence.policy);
    const episodes = episodesOf(evidence.groups);
    const turns = turnsOf(episodes);
    const values = checkedRows("value", turns, await critic.values(turns));
    const { advantages, returns, metrics } = (config.over === "token" ? overTokens : overTurns)(
      episodes,
      { ...evidence, values },
      config,
    );
    const fit = { returns: fixedRows(turns, returns), oldValues: fixedRows(turns, values) };
    return {
      episodes,
      advantages,
      metrics,
      afterStep: (batch, aggregation) => fitCritic(critic, batch, { ...fit, aggregation }, config.critic),
    };
  },
});

/** V before each token, of the critic at the start of the update. */
interface Valued extends Pick<Evidence, "klPenalties"> {
  readonly values: TokenRows;
}

interface Estimated {
  readonly advantages: TokenRows;
  /** The targets that the critic is fitted to. NaN at tokens that are no step of their own: it is not fitted there. */
  readonly returns: TokenRows;
  readonly metrics: MetricValues;
}

function overTokens(
  episodes: readonly Episode[],
  { klPenalties, values }: Valued,
  config: SettingsOf<typeof settings>,
): Estimated {
  const rewards = tokenRewards(episodes, klPenalties);
  const { advantages, returns } = gae(rewards, values, config, trajectoryEnds(episodes));
  return { advantages: whitened(advantages), returns, metrics: explained(returns, values) };
}

/** A turn is one action: its value is that of its context, its reward the sum of its tokens'. */
function overTurns(
  episodes: readonly Episode[],
  { klPenalties, values }: Valued,
  config: SettingsOf<typeof settings>,
): Estimated {
  const turns = turnsOf(episodes);
  const perEpisode = (numbers: readonly number[]) => {
    let next = 0;
    return episodes.map((episode) => episode.turns.map(() => numbers[next++]));
  };
  const rewards = perEpisode(tokenRewards(episodes, klPenalties).map((row) => total([row])));
  const valueRows = perEpisode(values.map(([first = 0]) => first));
  const { advantages, returns } = gae(rewards, valueRows, config);
  const targets = returns.flat();
  return {
    advantages: spread(turns, whitened(advantages).flat()),
    returns: turns.map(({ action }, i) => action.map((_, t) => (t === 0 ? targets[i] : Number.NaN))),
    metrics: explained(returns, valueRows),
  };
}

/** 1 − var(G − V)/var(G). Absent where all returns are equal. Sums are of distances to the first number, which keeps them exact enough. */
function explained(returns: TokenRows, values: TokenRows): MetricValues {
  const start = returns.findIndex((row) => row.length > 0);
  if (start < 0) return {};
  const [g0, e0] = [returns[start][0], returns[start][0] - values[start][0]];
  let [count, g, gg, e, ee] = [0, 0, 0, 0, 0];
  for (let b = 0; b < returns.length; b++) {
    const [row, value] = [returns[b], values[b]];
    for (let t = 0; t < row.length; t++) {
      const [fromReturn, fromError] = [row[t] - g0, row[t] - value[t] - e0];
      g += fromReturn;
      gg += fromReturn * fromReturn;
      e += fromError;
      ee += fromError * fromError;
    }
    count += row.length;
  }
  const [ofReturns, ofErrors] = [gg - (g * g) / count, ee - (e * e) / count];
  return ofReturns > 0 ? { explainedVariance: 1 - ofErrors / ofReturns } : {};
}
