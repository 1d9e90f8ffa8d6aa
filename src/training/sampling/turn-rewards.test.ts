import "../../../test/office.ts";
import { expect, test } from "vitest";
import { resolveAlgorithm } from "../../algorithms/algorithms.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Group } from "../../core/trajectory.ts";
import { trajectoryOf } from "../../runs/store.fixture.ts";
import { resolveConfig } from "../config/config.ts";
import { requireTurnRewards, settleTurnRewards } from "./turn-rewards.ts";

const settings = (kind: string, turnRewards: "per-turn" | "sum") => ({
  algorithm: resolveAlgorithm(kind),
  rollout: { ...resolveConfig().rollout, turnRewards },
});

/** A group of one trajectory of two turns with these rewards. */
function group(first: number | undefined, second: number | undefined): Group {
  const trajectory = trajectoryOf("a");
  const rewards = [first, second];
  const turns = trajectory.turns.map((turn, i) => (rewards[i] === undefined ? turn : { ...turn, reward: rewards[i] }));
  return { id: "g", trajectories: [{ ...trajectory, turns, reward: 3 }] };
}
const rewardsOf = (groups: readonly Group[]) =>
  groups.flatMap(({ trajectories }) => trajectories.map(({ turns, reward }) => [...turns.map((turn) => turn.reward), reward]));

test("rewards of turns reach an algorithm that uses them; as a sum they are the return alone", () => {
  expect(rewardsOf(settleTurnRewards([group(1, 2)], settings("ppo", "per-turn"), "world"))).toEqual([[1, 2, 3]]);
  expect(rewardsOf(settleTurnRewards([group(1, 2)], settings("ppo", "sum"), "world"))).toEqual([[undefined, undefined, 3]]);
});

test("an algorithm that would ignore them is refused, unless their sum is asked for", () => {
  for (const kind of ["seeupo", "grpo", "arpo"]) {
    expect(() => settleTurnRewards([group(1, 2)], settings(kind, "per-turn"), "world"), kind).toThrow(ConfigError);
    expect(() => settleTurnRewards([group(1, undefined)], settings(kind, "per-turn"), "world")).toThrow(
      /"world" gives rewards turn by turn/,
    );
    expect(() => settleTurnRewards([group(1, 2)], settings(kind, "sum"), "world")).not.toThrow();
  }
});

test("a reward with the last turn, and one of 0 before it, is the same as one at the end", () => {
  for (const groups of [[group(undefined, 2)], [group(0, 2)], [group(undefined, undefined)]])
    expect(settleTurnRewards(groups, settings("grpo", "per-turn"), "world")).toBe(groups);
});

test("an environment that announces them is refused before anything is sampled", () => {
  const world = { name: "world", turnRewards: true };
  expect(() => requireTurnRewards(settings("grpo", "per-turn"), world)).toThrow(ConfigError);
  for (const allowed of [settings("ppo", "per-turn"), settings("grpo", "sum")])
    expect(() => requireTurnRewards(allowed, world)).not.toThrow();
  expect(() => requireTurnRewards(settings("grpo", "per-turn"), { name: "world" })).not.toThrow();
});
