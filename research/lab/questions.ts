import { type Cell, carries, idOf, optimisers, orders, voidReason } from "./cell.ts";
import type { CellResult, Verdict } from "./grid.ts";
import { type Sees, sights } from "./policy.ts";

/**
 * A question that the lab is asked first, about the updates that SeeUPO is one of: turn by turn, advantages R − J, exact
 * expectations, several turns.
 */
export interface Question {
  readonly question: string;
  readonly of: (verdict: Verdict) => number | null;
  readonly show: (value: number | null) => string;
}

const perCent = (share: number | null) => (share === null ? "–" : String(Math.round(share * 100)));

export const questions: readonly Question[] = [
  {
    question: "DOES ANY ORDER LOWER J? Per cent of problems in which an update did",
    of: ({ shares }) => shares.fell,
    show: perCent,
  },
  {
    question: "WHO REACHES J*? Per cent of problems that ended within 1 % of it",
    of: ({ shares }) => shares.reached,
    show: perCent,
  },
  {
    question: "HOW FAST? Updates until half of the problems were within 1 % of J*; never: –",
    of: ({ updatesToReach }) => updatesToReach,
    show: (updates) => (updates === null ? "–" : String(updates)),
  },
];

const base = { advantage: "grae", update: "ppu", level: "turn", knows: "exact" } as const;

/** Orders and M of a column. */
const columns = orders.flatMap((order) =>
  carries
    .map((carry) => ({ order, carry }))
    .filter((column) => column.carry !== "paper") // its cells but those of one shared table are the exact M's: `paperTable` has them
    .filter((column) => voidReason({ ...base, ...column, sees: "index", optimise: "respond" }) === undefined),
);

export interface Answer extends Pick<Cell, "order" | "carry" | "optimise"> {
  readonly sees: Sees;
  /** Null where there is none. */
  readonly value: number | null;
}

/** The answers to a question, of every sight, operator, order and M. */
export function answersTo(results: readonly CellResult[], of: Question["of"]): Answer[] {
  const byId = new Map(results.map((result) => [result.id, result]));
  return rows().flatMap(({ sees, optimise }) =>
    columns.map(({ order, carry }) => {
      const verdict = byId.get(idOf({ ...base, order, carry, sees, optimise }))?.multi;
      return { sees, optimise, order, carry, value: verdict === undefined ? null : of(verdict) };
    }),
  );
}

function rows(): Pick<Cell, "sees" | "optimise">[] {
  return sights.flatMap((sees) => optimisers.map((optimise) => ({ sees, optimise })));
}

/** A table for one question: a row for each sight and operator, a column for each order and M. */
export function questionRows(results: readonly CellResult[], { of, show }: Question): string[][] {
  const answers = answersTo(results, of);
  return [
    ["", ...columns.map(({ order }) => order)],
    ["a turn sees, operator; M:", ...columns.map(({ carry }) => (carry === "off" ? "–" : carry))],
    ...rows().map(({ sees, optimise }, i) => [
      `${sees}, ${optimise}`,
      ...answers.slice(i * columns.length, (i + 1) * columns.length).map(({ value }) => show(value)),
    ]),
  ];
}
