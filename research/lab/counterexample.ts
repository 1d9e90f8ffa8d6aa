import { readFileSync } from "node:fs";
import { z } from "zod";
import { advantagesOf, exactBatch, groupBatch, unitsOf } from "./batch.ts";
import { type Cell, idOf, singleTurn } from "./cell.ts";
import type { LabRules } from "./config.ts";
import { optimum } from "./optimum.ts";
import { expectedReturn, layoutOf } from "./policy.ts";
import type { Problem } from "./problem.ts";
import { update } from "./update.ts";

const exampleSchema = z.strictObject({
  size: z.strictObject({ turns: z.int(), tokens: z.int(), vocabulary: z.int(), contexts: z.int() }),
  /** contexts × leaves; deterministic. */
  rewards: z.array(z.number()).readonly(),
  /** rows × vocabulary. */
  policy: z.array(z.number()).readonly(),
  /** The turns, from 0, that are updated together; in their order. */
  turnUpdates: z.array(z.array(z.int()).readonly()).readonly(),
  /** The sampled leaves, group after group; absent with exact expectations. */
  group: z.array(z.int()).readonly().optional(),
});

/** The data that a person needs to redo one update by hand. */
export type Example = z.output<typeof exampleSchema>;

/** An example with its numbers: J before and after one update, and J*. */
export interface Worked extends Example {
  readonly before: number;
  readonly after: number;
  readonly best: number;
  readonly policyAfter: readonly number[];
  /** Every trajectory of the batch: π in exact batches, 1/(contexts · G) in sampled ones. */
  readonly trajectories: readonly {
    readonly context: number;
    readonly leaf: number;
    readonly weight: number;
    readonly reward: number;
    readonly advantages: readonly number[];
  }[];
}

/** A smaller fall of J is not counted: what is printed should be seen in a few digits. */
const visible = 1e-6;

let known: ReadonlyMap<string, Example> | undefined;

/**
 * The smallest examples that a search of every cell found, with the default rules: thousands of small problems with whole rewards and simple tables,
 * changed towards a fall, then simplified while they still show one. The search is in commit 6341024e (`extensions/lab/counterexample.ts`).
 */
function examples(): ReadonlyMap<string, Example> {
  const lines = readFileSync(new URL("counter-examples.jsonl", import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
  const lineSchema = exampleSchema.extend({ cells: z.array(z.string()) });
  return new Map(
    lines.flatMap((line) => {
      const { cells, ...example } = lineSchema.parse(JSON.parse(line));
      return cells.map((cell): [string, Example] => [cell, example]);
    }),
  );
}

/** The known example of a cell where an update lowers J, computed again; undefined where there is none, or it shows nothing with these rules. */
export function counterexample(asker: Cell, rules: LabRules, turns: "one turn" | "several turns"): Worked | undefined {
  known ??= examples();
  // The environment says nothing in these problems, so that a turn that sees the last answer sees its index.
  const cell: Cell = asker.sees === "last-answer" ? { ...asker, sees: "index" } : asker;
  const example = known.get(`${idOf(cell)}, ${turns}`);
  const worked = example && work(example.size.turns === 1 ? singleTurn(cell) : cell, rules, example);
  return worked && worked.before - worked.after > visible ? worked : undefined;
}

/** Makes the update of an example. */
export function work(cell: Cell, rules: LabRules, example: Example): Worked {
  const { size, turnUpdates, group, rewards } = example;
  const layout = layoutOf(size, cell.sees);
  const problem: Problem = { size, means: Float64Array.from(rewards), spreads: new Float64Array(rewards.length) };
  const start = Float64Array.from(example.policy);
  const batch = group ? groupBatch(problem, layout, group.length / size.contexts, group) : exactBatch(problem, layout, start);
  const advantages = advantagesOf(cell, problem, layout, start, batch);
  const units = unitsOf(cell.level, layout);
  const policyAfter = update(cell, problem, layout, start, batch, turnUpdates, rules);
  return {
    ...example,
    before: expectedReturn(problem, layout, start),
    after: expectedReturn(problem, layout, policyAfter),
    best: optimum(problem, cell.sees),
    trajectories: Array.from({ length: batch.count }, (_, i) => ({
      context: batch.contexts[i],
      leaf: batch.leaves[i],
      weight: batch.weights[i],
      reward: batch.rewards[i],
      advantages: [...advantages.subarray(i * units, (i + 1) * units)],
    })),
    policyAfter: [...policyAfter],
  };
}
