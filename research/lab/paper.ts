import type { Cell } from "./cell.ts";

/** A row of the table of SeeUPO (arXiv:2602.06554): whether convergence is claimed, and the cells that are this combination. */
export interface PaperRow {
  readonly example: string;
  readonly advantage: string;
  readonly update: string;
  readonly level: string;
  /** Undefined where the table has a dash. */
  readonly single: boolean | undefined;
  readonly multi: boolean;
  readonly cells: readonly Pick<Cell, "advantage" | "update" | "level" | "order" | "carry">[];
}

const joint = { order: "joint", carry: "off" } as const;

export const paperTable: readonly PaperRow[] = [
  {
    example: "PPO",
    advantage: "GAE",
    update: "PPU",
    level: "token",
    single: true,
    multi: true,
    cells: [{ advantage: "gae", update: "ppu", level: "token", ...joint }],
  },
  {
    example: "GRPO, REINFORCE++",
    advantage: "GRAE",
    update: "PPU",
    level: "token",
    single: false,
    multi: false,
    cells: [
      { advantage: "grae-std", update: "ppu", level: "token", ...joint },
      { advantage: "grae", update: "ppu", level: "token", ...joint },
    ],
  },
  {
    example: "RLOO",
    advantage: "GRAE",
    update: "REINFORCE",
    level: "sequence",
    single: true,
    multi: false,
    cells: [{ advantage: "grae", update: "reinforce", level: "sequence", ...joint }],
  },
  {
    example: "GSPO",
    advantage: "GRAE",
    update: "PPU",
    level: "sequence",
    single: true,
    multi: false,
    cells: [
      { advantage: "grae-std", update: "ppu", level: "sequence", ...joint },
      { advantage: "grae", update: "ppu", level: "sequence", ...joint },
    ],
  },
  {
    example: "SeeUPO",
    advantage: "GRAE",
    update: "sequential, reverse",
    level: "turn",
    single: undefined,
    multi: true,
    cells: [
      { advantage: "grae", update: "ppu", level: "turn", order: "reverse", carry: "exact" },
      { advantage: "grae", update: "ppu", level: "turn", order: "reverse", carry: "paper" },
      { advantage: "grae", update: "ppu", level: "turn", order: "reverse", carry: "clipped" },
    ],
  },
];

/** The circumstances that each row of the paper is held against: the theory's first, practice last. */
export const circumstances: readonly Pick<Cell, "sees" | "optimise" | "knows">[] = [
  { sees: "history", optimise: "maximise", knows: "exact" },
  { sees: "index", optimise: "maximise", knows: "exact" },
  { sees: "shared", optimise: "maximise", knows: "exact" },
  { sees: "history", optimise: "steps", knows: "exact" },
  { sees: "index", optimise: "steps", knows: "exact" },
  { sees: "shared", optimise: "steps", knows: "exact" },
  { sees: "history", optimise: "maximise", knows: "groups" },
  { sees: "history", optimise: "steps", knows: "groups" },
  { sees: "shared", optimise: "steps", knows: "groups" },
];
