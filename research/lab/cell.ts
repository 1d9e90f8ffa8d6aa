import { ConfigError } from "../../src/core/errors.ts";
import { didYouMean } from "../../src/core/settings.ts";
import { type Sees, sights } from "./policy.ts";

export const advantageKinds = ["gae", "grae", "grae-std"] as const;
export const updateKinds = ["reinforce", "ppu"] as const;
export const levels = ["token", "sequence", "turn"] as const;
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
export const knowledge = ["exact", "groups"] as const;

/** One combination of the grid. */
export interface Cell {
  readonly advantage: (typeof advantageKinds)[number];
  readonly update: (typeof updateKinds)[number];
  /** Where the ratio is taken, and for `gae` what counts as one action of the critic. */
  readonly level: (typeof levels)[number];
  /** All turns at once, or one after the other. */
  readonly order: (typeof orders)[number];
  /** M, the ratios of the turns updated before. */
  readonly carry: (typeof carries)[number];
  readonly sees: Sees;
  readonly optimise: (typeof optimisers)[number];
  readonly knows: (typeof knowledge)[number];
}

/**
 * "grae.ppu.turn.reverse.m-exact.history.maximise.exact"
 */
export function idOf(cell: Cell): string {
  const { advantage, update, level, order, carry, sees, optimise, knows } = cell;
  return [advantage, update, level, order, `m-${carry}`, sees, optimise, knows].join(".");
}

/**
 * Every combination, void ones and repetitions included.
 */
export function allCells(): Cell[] {
  return advantageKinds.flatMap((advantage) =>
    updateKinds.flatMap((update) =>
      levels.flatMap((level) =>
        orders.flatMap((order) =>
          carries.flatMap((carry) =>
            sights.flatMap((sees) =>
              optimisers.flatMap((optimise) =>
                knowledge.map((knows) => ({ advantage, update, level, order, carry, sees, optimise, knows })),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/**
 * @throws ConfigError if no cell has this id
 */
export function cellOf(id: string): Cell {
  const cells = allCells();
  const cell = cells.find((candidate) => idOf(candidate) === id);
  if (cell !== undefined) return cell;
  throw new ConfigError("--cell", id, {
    expected:
      "advantage.update.level.order.m-carry.sees.optimise.knows, such as grae.ppu.turn.reverse.m-exact.history.maximise.exact",
    hint: misspelt(id) ?? didYouMean(id, cells.map(idOf)),
  });
}

function misspelt(id: string): string | undefined {
  const words = [advantageKinds, updateKinds, levels, orders, carries.map((m) => `m-${m}`), sights, optimisers, knowledge];
  const parts = id.split(".");
  if (parts.length !== words.length) return `It has ${parts.length} of ${words.length} parts.`;
  const wrong = parts.findIndex((part, i) => !words[i].some((word) => word === part));
  return wrong < 0 ? undefined : `Part ${wrong + 1}, "${parts[wrong]}", can be ${words[wrong].join(", ")}.`;
}

/** Why a combination means nothing, or undefined where it means something. */
export function voidReason({ advantage, update, level, order, carry, optimise, knows }: Cell): string | undefined {
  if (order === "joint" && carry !== "off")
    return "M carries what the turns updated before have moved, and a joint update changes all turns at once";
  if (update === "reinforce" && optimise !== "steps")
    return "A·log π has no maximum: where A < 0 it grows without bound as π goes to 0";
  if (level === "sequence" && order !== "joint")
    return "the ratio of a whole trajectory has no parts to update one by one: with an update for each turn it is the turn's ratio (level turn)";
  if (level === "sequence" && optimise === "respond")
    return "E[ρA] of whole trajectories is J itself, so its best response is J*";
  if (carry === "paper" && level !== "turn") return "equations 6 and 8 have the ratio of a turn";
  if ((optimise === "kl" || optimise === "trust") && (level !== "turn" || advantage !== "grae" || knows === "groups"))
    return "HAML's other operators are run in its own form: turns, exact advantages R − J";
  return undefined;
}

/** The cell that computes the very same thing, and why; undefined where there is none. */
export function sameAs(cell: Cell): { readonly cell: Cell; readonly why: string } | undefined {
  if (voidReason(cell) !== undefined) return undefined;
  if (cell.update === "reinforce" && cell.advantage !== "gae" && cell.level !== "turn") {
    const twin = { ...cell, level: "turn" as const };
    return {
      cell: sameAs(twin)?.cell ?? twin,
      why: "REINFORCE has no ratio, and one advantage for the whole trajectory makes its three levels one",
    };
  }
  if (cell.carry === "paper" && cell.sees !== "shared")
    return {
      cell: { ...cell, carry: "exact" },
      why: "with a policy for each turn no other update moves it: before its own it is the one that sampled, and eq. 6 and 8 are the exact M",
    };
  if (cell.sees === "history" && cell.carry === "off" && cell.order !== "joint")
    return {
      cell: { ...cell, order: "joint" },
      why: "with full history turns share no table, so that updates turn by turn without M, in any order, are the joint update",
    };
  return undefined;
}

/** With one turn there is one turn update, and M is 1: orders and M are the joint update. Whoever does not see the context sees nothing. */
export function singleTurn(cell: Cell): Cell {
  return { ...cell, order: "joint", carry: "off", sees: cell.sees === "history" ? "history" : "index" };
}
