import { expect, test } from "vitest";
import { resolveAlgorithm, rolloutAlgorithms } from "./config.ts";
import {
  comparesWithinGroups,
  dealtTo,
  defaultRollout,
  ignoresGroupsOfOne,
  maxBatchesOf,
  miniBatchesOf,
  trainsSharedTurnsOnce,
  usesTurnRewards,
} from "./questions.ts";

const kindsWhere = (question: (config: ReturnType<typeof resolveAlgorithm>) => boolean) =>
  rolloutAlgorithms.filter((kind) => kind !== "custom" && question(resolveAlgorithm(kind)));

test("only advantages over the whole batch can learn where no rollouts of a task differ", () => {
  const whole = ["ppo", "reinforce++"];
  expect(kindsWhere((config) => !comparesWithinGroups(config))).toEqual(whole);
  expect(kindsWhere((config) => !ignoresGroupsOfOne(config))).toEqual(whole);
  expect(comparesWithinGroups(resolveAlgorithm({ kind: "sft" }))).toBe(false);
  // A bare return is an advantage in a group of one, though groups are compared.
  const raw = resolveAlgorithm({ kind: "seeupo", singletonGroups: "raw" });
  expect([comparesWithinGroups(raw), ignoresGroupsOfOne(raw)]).toEqual([true, false]);
  const rawGrpo = resolveAlgorithm({ kind: "grpo", advantage: { singletonGroups: "raw" } });
  expect([comparesWithinGroups(rawGrpo), ignoresGroupsOfOne(rawGrpo)]).toEqual([true, false]);
});

test("advantages of tokens or turns look at the rewards of turns, those of whole trajectories do not", () => {
  expect(kindsWhere(usesTurnRewards).toSorted()).toEqual(["gigpo", "ppo", "reinforce++"]);
  expect(usesTurnRewards(resolveAlgorithm({ kind: "sft" }))).toBe(false);
});

test("ARPO trains shared turns once unless attribution is soft, and samples trees", () => {
  expect(
    ["soft", "hard", "tree"].map((attribution) => trainsSharedTurnsOnce(resolveAlgorithm({ kind: "arpo", attribution }))),
  ).toEqual([false, true, true]);
  expect(kindsWhere(trainsSharedTurnsOnce)).toEqual([]);
  const custom = (kind: string) => resolveAlgorithm({ kind: "custom", advantage: { kind }, update: { kind: "ppu" } });
  expect(["tree", "shared-mean", "group-relative"].map((kind) => trainsSharedTurnsOnce(custom(kind)))).toEqual([
    true,
    true,
    false,
  ]);
  expect([defaultRollout("arpo"), defaultRollout("grpo"), defaultRollout(7)]).toEqual([{ groupSize: 16, branching: {} }, {}, {}]);
});

test("a batch that came out small has no empty mini-batch", () => {
  const gspo = resolveAlgorithm("gspo");
  expect([5, 4, 3, 0].map((groups) => miniBatchesOf(dealtTo(groups, gspo)))).toEqual([4, 4, 3, 1]);
  const seeupo = resolveAlgorithm("seeupo");
  expect([dealtTo(0, seeupo), miniBatchesOf(seeupo)]).toEqual([seeupo, 1]);
});

test("DAPO alone samples more than one batch", () => {
  expect(kindsWhere((config) => maxBatchesOf(config) > 1)).toEqual(["dapo"]);
});
