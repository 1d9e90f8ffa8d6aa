import { type Cell, idOf } from "./cell.ts";
import type { Worked } from "./counterexample.ts";
import { layoutOf } from "./policy.ts";
import type { Size } from "./problem.ts";

/** A number with as few digits as show it to four places. */
export function short(value: number): string {
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(1);
  return String(Number(value.toFixed(4)));
}

/** The tokens of a trajectory as letters, turns apart: "a b" or "ab ba". */
function trajectoryName(leaf: number, { turns, tokens, vocabulary }: Size): string {
  const digits = Array.from(
    { length: turns * tokens },
    (_, i) => Math.floor(leaf / vocabulary ** (turns * tokens - 1 - i)) % vocabulary,
  );
  const letters = digits.map((digit) => String.fromCharCode(97 + digit));
  return Array.from({ length: turns }, (_, t) => letters.slice(t * tokens, (t + 1) * tokens).join("")).join(" ");
}

/** Returns a name for each table, in the order of its rows. */
function rowNames(cell: Pick<Cell, "sees">, size: Size): string[] {
  const layout = layoutOf(size, cell.sees);
  const names = new Array<string>(layout.rows);
  for (let x = size.contexts - 1; x >= 0; x--)
    for (let leaf = layout.leaves - 1; leaf >= 0; leaf--) {
      const letters = trajectoryName(leaf, size).replaceAll(" ", "");
      for (let k = 0; k < layout.decisions; k++) {
        const turn = Math.floor(k / size.tokens);
        const own = letters.slice(turn * size.tokens, k);
        const context = size.contexts > 1 && cell.sees === "history" ? `context ${x + 1}, ` : "";
        const before = cell.sees === "history" && turn > 0 ? ` after ${letters.slice(0, turn * size.tokens)}` : "";
        const last =
          cell.sees === "last-step" && turn > 0 ? ` after ${letters.slice((turn - 1) * size.tokens, turn * size.tokens)}` : "";
        const place = cell.sees === "shared" ? "every turn" : `${context}turn ${turn + 1}${before}${last}`;
        names[layout.rowOf[(x * layout.leaves + leaf) * layout.decisions + k]] =
          own === "" ? place : `${place}, token after ${own}`;
      }
    }
  return names;
}

/** All that a person needs to redo it: rewards, policy before, advantages, policy after, J. Lines of text. */
export function exampleLines(cell: Cell, worked: Worked): string[] {
  const { size, turnUpdates, group } = worked;
  const { vocabulary } = size;
  const names = rowNames(cell, size);
  const letters = Array.from({ length: vocabulary }, (_, i) => String.fromCharCode(97 + i));
  const row = (policy: readonly number[], i: number) =>
    letters.map((letter, token) => `${letter} ${short(policy[i * vocabulary + token])}`).join("  ");
  const width = Math.max(...names.map((name) => name.length));
  const order = turnUpdates.map((turns) => turns.map((t) => t + 1).join(" and ")).join(", then ");
  return [
    `An update that lowers J: ${idOf(cell)}`,
    `${count(size.turns, "turn")} of ${count(size.tokens, "token")}, ${vocabulary} tokens to choose from, ${count(size.contexts, "context")}` +
      (group === undefined ? "" : `, groups of ${group.length / size.contexts}`) +
      (size.turns > 1 ? `; turns updated: ${order}` : ""),
    group === undefined ? "trajectory  π        R       A" : "sampled     weight   R       A",
    ...worked.trajectories.map(
      ({ context, leaf, weight, reward, advantages }) =>
        `  ${size.contexts > 1 ? `${context + 1}: ` : ""}${trajectoryName(leaf, size)}`.padEnd(12) +
        `${short(weight)}`.padEnd(9) +
        `${short(reward)}`.padEnd(8) +
        [...new Set(advantages)].map(short).join(", "),
    ),
    ...(group === undefined ? [] : [`  rewards of all trajectories: ${allRewards(worked)}`]),
    "tables, before → after",
    ...names.map((name, i) => `  ${name.padEnd(width)}  ${row(worked.policy, i)}  →  ${row(worked.policyAfter, i)}`),
    `J ${short(worked.before)} → ${short(worked.after)} (J* = ${short(worked.best)})`,
  ];
}

function allRewards({ size, rewards }: Worked): string {
  const leaves = rewards.length / size.contexts;
  return rewards
    .map(
      (reward, i) =>
        `${size.contexts > 1 ? `${Math.floor(i / leaves) + 1}: ` : ""}${trajectoryName(i % leaves, size)} ${short(reward)}`,
    )
    .join(", ");
}

function count(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? "" : "s"}`;
}
