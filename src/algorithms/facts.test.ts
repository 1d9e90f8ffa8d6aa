import { expect, test } from "vitest";
import { dealtTo, defaultsOf, factsOf, maxBatchesOf, miniBatchesOf, resolveAlgorithm, rolloutAlgorithms } from "./algorithms.ts";

const kindsWhere = (question: (config: ReturnType<typeof resolveAlgorithm>) => boolean) =>
  rolloutAlgorithms.filter((kind) => kind !== "custom" && question(resolveAlgorithm(kind)));

test("only advantages over the whole batch can learn where no rollouts of a task differ", () => {
  const whole = ["ppo", "reinforce++"];
  expect(kindsWhere((config) => !factsOf(config).comparesWithinGroups)).toEqual(whole);
  expect(kindsWhere((config) => !factsOf(config).ignoresGroupsOfOne)).toEqual(whole);
  expect(factsOf(resolveAlgorithm({ kind: "sft" })).comparesWithinGroups).toBe(false);
  // A bare return is an advantage in a group of one, though groups are compared.
  const raw = resolveAlgorithm({ kind: "seeupo", singletonGroups: "raw" });
  expect([factsOf(raw).comparesWithinGroups, factsOf(raw).ignoresGroupsOfOne]).toEqual([true, false]);
  const rawGrpo = resolveAlgorithm({ kind: "grpo", advantage: { singletonGroups: "raw" } });
  expect([factsOf(rawGrpo).comparesWithinGroups, factsOf(rawGrpo).ignoresGroupsOfOne]).toEqual([true, false]);
});

test("advantages of tokens or turns look at the rewards of turns, those of whole trajectories do not", () => {
  expect(kindsWhere((config) => factsOf(config).readsTurnRewards).toSorted()).toEqual(["gigpo", "ppo", "reinforce++"]);
  expect(factsOf(resolveAlgorithm({ kind: "sft" })).readsTurnRewards).toBe(false);
});

test("self-distillation alone reads demonstrations, and credits no roles", () => {
  expect(kindsWhere((config) => factsOf(config).readsDemonstrations)).toEqual([]);
  const custom = (kind: string) => resolveAlgorithm({ kind: "custom", advantage: { kind }, update: { kind: "reinforce" } });
  const facts = ["self-distillation", "group-relative"].map((kind) => factsOf(custom(kind)));
  expect(facts.map(({ readsDemonstrations, creditsRoles }) => [readsDemonstrations, creditsRoles])).toEqual([
    [true, false],
    [false, true],
  ]);
});

test("ARPO trains shared turns once unless attribution is soft, and samples trees", () => {
  expect(
    ["soft", "hard", "tree"].map((attribution) => factsOf(resolveAlgorithm({ kind: "arpo", attribution })).trainsSharedTurnsOnce),
  ).toEqual([false, true, true]);
  expect(kindsWhere((config) => factsOf(config).trainsSharedTurnsOnce)).toEqual([]);
  const custom = (kind: string) => resolveAlgorithm({ kind: "custom", advantage: { kind }, update: { kind: "ppu" } });
  expect(["tree", "shared-mean", "group-relative"].map((kind) => factsOf(custom(kind)).trainsSharedTurnsOnce)).toEqual([
    true,
    true,
    false,
  ]);
  expect(["arpo", "grpo", 7].map((kind) => defaultsOf(kind).rollout)).toEqual([
    { groupSize: 16, branching: {} },
    undefined,
    undefined,
  ]);
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
