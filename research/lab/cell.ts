import { type Sees, sights } from "./policy.ts";

export const orders = ["joint", "reverse", "sequential", "random"] as const;
/** `exact` and `clipped` carry π_new/π_old of each turn's update. `paper`: the loss and M take their ratio to the policy that sampled (eq. 6 and 8). */
export const carries = ["off", "exact", "clipped", "paper"] as const;
/**
 * The instances of HAML's update (mirror learning, Kuba et al., 2022): argmax over a neighbourhood operator of E[M·A] less a drift functional, at
 * the histories of the sampling distribution, which is that of the batch.
 * - respond: no drift, all policies: the best response
 * - maximise: the drift of PPO's clip, all policies
 * - kl: the drift KL(π ‖ π_old) / η, all policies
 * - trust: no drift, the neighbourhood KL(π ‖ π_old) ≤ δ, as TRPO has it
 * - steps: gradient steps on the clipped objective, which is no exact argmax
 */
export const optimisers = ["respond", "maximise", "kl", "trust", "steps"] as const;

/** One way to update turns: their ratios are taken turn by turn, their advantages are those of the whole trajectory. */
export interface Cell {
  /** R − J(x), or the same divided by σ. */
  readonly advantage: "grae" | "grae-std";
  /** All turns at once, or one after the other. */
  readonly order: (typeof orders)[number];
  /** M, the ratios of the turns updated before. */
  readonly carry: (typeof carries)[number];
  readonly sees: Sees;
  readonly optimise: (typeof optimisers)[number];
  /** Whether expectations are exact, or means over sampled groups. */
  readonly knows: "exact" | "groups";
}

/** A cell's name, such as "grae.ppu.turn.reverse.m-exact.history.maximise.exact". Its random numbers come from it. */
export function idOf({ advantage, order, carry, sees, optimise, knows }: Cell): string {
  return [advantage, "ppu", "turn", order, `m-${carry}`, sees, optimise, knows].join(".");
}

/** Orders with M: a joint update changes all turns at once and carries nothing. The paper's M is run in the paper's order. */
export const columns = orders.flatMap((order) =>
  carries
    .filter((carry) => (order === "joint" ? carry === "off" : carry !== "paper" || order === "reverse"))
    .map((carry) => ({ order, carry })),
);

/** Rows of every table: of sampled groups, the operators that practice has. */
export const rows = (["exact", "groups"] as const).flatMap((knows) =>
  sights.flatMap((sees) =>
    optimisers
      .filter((optimise) => knows === "exact" || optimise === "maximise" || optimise === "steps")
      .map((optimise) => ({ knows, sees, optimise })),
  ),
);

/** Every combination that is run, row by row. */
export function allCells(): Cell[] {
  return rows.flatMap((row) => columns.map((column) => ({ advantage: "grae" as const, ...column, ...row })));
}
