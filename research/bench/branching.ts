/**
 * `npx jiti research/bench/branching.ts [WORLD …]`: in which world the entropy rises after tool results with the bundled and made models, and how often ARPO's
 * published rule branches above and below the median rise, at its weight of 0.2 and at one with which entropy decides. Rollouts alone.
 */
import "../install.ts";
import { join } from "node:path";
import { ownTurns } from "../../src/algorithms/advantages/tree.ts";
import { mean, standardDeviation } from "../../src/core/mean.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { rolloutTrees } from "../../src/rollouts/branching/trees.ts";
import { openModel } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { trainingTasks } from "../../src/training/config/tasks.ts";
import { branchShares } from "../../src/training/sampling/branching.ts";

const worlds: Readonly<Record<string, readonly [model: string, environment: string, settings: object]>> = {
  office: ["office", "office", {}],
  search: ["office-search", "office", { scenario: "search" }],
  handover: ["office-handover", "office", { scenario: "handover" }],
  history: ["office-history", "office", { scenario: "history" }],
  knowledge: ["knowledge", "knowledge", {}],
};
const asked = process.argv.slice(2);
const percent = (share: number) => `${(100 * share).toFixed(0)} %`;

console.log("world, entropy | before | after | risen | s.d. of ΔH | branch above and below the median ΔH: w 0.2 | w 20");
for (const [world, [model, name, settings]] of Object.entries(worlds)) {
  if (asked.length > 0 && !asked.includes(world)) continue;
  const { engine, chat } = await openModel(
    join(import.meta.dirname, "../../models", model),
    resolveConfig({ engine: { threads: 1 } }).engine,
  );
  const environment = createEnvironment(name, settings);
  const tasks = await trainingTasks(environment, 0, 8, 1);
  for (const entropy of ["top-10", "exact"] as const) {
    const cells: string[] = [];
    for (const weight of [0.2, 20]) {
      const branching = { entropy, rule: { kind: "reference", weight } } as const;
      const { rollout } = resolveConfig({ algorithm: "arpo", rollout: { groupSize: 16, branching } });
      if (rollout.branching === "off") throw new Error("branching is on");
      const options = { ...rollout, branching: rollout.branching, seed: 1, name: `${entropy}-${weight}` };
      const trajectories = (await rolloutTrees(engine, chat, environment, tasks, options)).flatMap((group) => group.trajectories);
      const decisions = trajectories.flatMap(ownTurns).flatMap(({ branching }) => branching ?? []);
      if (cells.length === 0) {
        const rises = decisions.map(({ rise }) => rise);
        cells.push(
          mean(decisions.map(({ entropy, rise }) => entropy - rise)).toFixed(3),
          mean(decisions.map(({ entropy }) => entropy)).toFixed(3),
        );
        cells.push(
          `${percent(mean(rises.map((rise) => Number(rise > 0))))} of ${rises.length}`,
          standardDeviation(rises).toFixed(3),
        );
      }
      const { above, below } = branchShares(decisions);
      cells.push(`${percent(above)}, ${percent(below)}`);
    }
    console.log(`${world}, ${entropy} | ${cells.join(" | ")}`);
  }
  await engine.dispose();
}
