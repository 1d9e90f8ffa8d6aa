import { expect, test } from "vitest";
import { rolloutTrees } from "../../../src/rollouts/branching/trees.ts";
import { openModel } from "../../../src/sdk/model.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { trainingTasks } from "../../../src/training/config/tasks.ts";
import { toolCallsSpent } from "../../../src/training/sampling/branching.ts";
import study from "../arpo.ts";
import { corridorEnvironment, rooms, sureRooms } from "./corridor.ts";

test("the start model is sure of six doors, and a tree that branches at the other two saves more than half of the calls", async () => {
  const { config } = study.worlds.corridor;
  const { rollout, engine } = resolveConfig({ ...config, ...study.arms["arpo-unsure"].config, environment: "office" });
  if (rollout.branching === "off") throw new Error("branching is on");
  const { engine: policy, chat } = await openModel("research/studies/arpo/corridor", engine);
  const environment = corridorEnvironment();
  const tasks = await trainingTasks(environment, 0, 2, 1);
  const options = { ...rollout, groupSize: 16, maxTokens: 2, maxTurns: rooms, branching: rollout.branching, seed: 1, name: "s" };
  const leaves = (await rolloutTrees(policy, chat, environment, tasks, options)).flatMap(({ trajectories }) => trajectories);
  await policy.dispose();
  expect(leaves.map(({ turns }) => turns.length)).toEqual(new Array(32).fill(rooms));
  expect(leaves.every(({ branch }) => branch === undefined || branch.turn >= sureRooms)).toBe(true);
  expect(toolCallsSpent(leaves)).toBeLessThan((32 * rooms) / 2);
  const rewards = leaves.map(({ reward }) => reward);
  expect(Math.max(...rewards)).toBeGreaterThan(0);
  expect(rewards.reduce((sum, reward) => sum + reward, 0) / 32).toBeLessThan(0.3);
});
