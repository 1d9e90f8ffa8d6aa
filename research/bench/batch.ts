import { readFile, writeFile } from "node:fs/promises";
import { commonPrefix } from "../../src/core/context.ts";
import type { Group, TokenId, Turn } from "../../src/core/trajectory.ts";

/** A batch of rollouts as our side takes it, and the same as rows of tokens for a peer. */
export interface RolloutBatch {
  readonly groups: readonly Group[];
  /** One row for each trajectory: its whole conversation, where every context continues the one before it. */
  readonly trajectories: readonly Row[];
}

/** Σ weights · log π is what all sides differentiate. */
export interface Row {
  readonly tokens: readonly TokenId[];
  /** One for each token; 0 on what the model did not write. */
  readonly weights: readonly number[];
}

/** Not all alike, so that nothing cancels, and none of them 0, which tells a peer that a token is not trained. */
export function turnWeights({ turn, action }: Pick<Turn, "turn" | "action">): number[] {
  return action.map((_, i) => Math.cos(turn + i));
}

export function rolloutBatch(groups: readonly Group[]): RolloutBatch {
  return { groups, trajectories: groups.flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => unbrokenRows(turns))) };
}

/** As few rows as hold all turns: a new one begins where a context is not the row so far continued, as where a template rewrites history. */
export function unbrokenRows(turns: readonly Turn[]): Row[] {
  const rows: Row[] = [];
  for (const turn of turns) {
    const row = rows.at(-1);
    if (row !== undefined && commonPrefix(row.tokens, turn.context) === row.tokens.length)
      rows[rows.length - 1] = longer(row, turn);
    else rows.push(longer(undefined, turn));
  }
  return rows;
}

function longer(row: Row | undefined, turn: Turn): Row {
  const { context, action } = turn;
  const known = row?.weights ?? [];
  const observed = Array.from({ length: context.length - known.length }, () => 0);
  return { tokens: [...context, ...action], weights: [...known, ...observed, ...turnWeights(turn)] };
}

export async function writeBatch(file: string, batch: RolloutBatch): Promise<void> {
  await writeFile(file, JSON.stringify(batch));
}

/** Reads what `writeBatch` wrote a moment ago. */
export async function readBatch(file: string): Promise<RolloutBatch> {
  return JSON.parse(await readFile(file, "utf8"));
}
