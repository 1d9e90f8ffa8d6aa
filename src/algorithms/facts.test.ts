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

test("distillation scores with the model that it names, and runs with rewards need what advantages ask of them", () => {
  const custom = (advantage: object) => resolveAlgorithm({ kind: "custom", advantage, update: { kind: "reinforce" } });
  const distilled = factsOf(custom({ kind: "distillation", teacher: "some/model" }));
  expect(distilled.model).toEqual({ name: "some/model", setting: "advantage.teacher" });
  const modelScores = async () => [[-1]];
  const parts = { groups: [], maxLength: 9, scores: async () => [], demonstration: expect.unreachable, warn: expect.unreachable };
  expect(distilled.teacher?.({ ...parts, modelScores } as never)).toBe(modelScores);
  expect(() => distilled.teacher?.(parts as never)).toThrow("the teacher's scores is missing");
  expect(factsOf(custom({ kind: "group-relative" }))).toMatchObject({ model: undefined, teacher: undefined });
  expect(() => custom({ kind: "distillation", teacher: "" })).toThrow("algorithm.advantage.teacher");
  const run = { rewards: ["environment", "form"], branching: false, klInReward: false };
  const unmet = (advantage: object, changes: object = {}) => factsOf(custom(advantage)).unmet({ ...run, ...changes });
  expect(unmet({ kind: "gdpo", weights: { form: 1 } })).toBeUndefined();
  expect(unmet({ kind: "gdpo", weights: { form: 1 } }, { klInReward: true })).toEqual({
    ...{ setting: "advantage.kind", value: "gdpo" },
    expected: 'algorithm.klIn "loss": a KL in the reward belongs to no single one',
  });
  expect(unmet({ kind: "carl" })).toEqual({
    ...{ setting: "advantage.kind", value: "off" },
    expected: "rollout.branching with settings: it compares the branches of a rollout",
  });
  expect(unmet({ kind: "carl" }, { branching: true })).toBeUndefined();
});

test("seeupo-code brings its optimiser; the mini-batches of a kind are those of its settings", () => {
  expect(defaultsOf("seeupo-code")).toEqual({ optimizer: { beta2: 0.999, weightDecay: 0.01 }, miniBatches: 1 });
  expect(defaultsOf("seeupo")).toEqual({ miniBatches: 1 });
  expect(defaultsOf("ppo")).toEqual({ miniBatches: 4 });
  expect(defaultsOf("dapo")).toEqual({ miniBatches: 16 });
  expect(defaultsOf("none")).toEqual({ miniBatches: 1 });
  expect(factsOf(resolveAlgorithm({ kind: "seeupo", klCoef: 0.1 })).capabilities).toEqual(["reference"]);
  expect(factsOf(resolveAlgorithm({ kind: "ppo", klCoef: 0.1, entropyCoef: 0.1 })).capabilities).toEqual([
    ...["reference", "critic", "entropy-gradient"],
  ]);
  expect(factsOf(resolveAlgorithm("sft"))).toMatchObject({ capabilities: [], creditsRoles: false, trainsSharedTurnsOnce: false });
  expect(factsOf(resolveAlgorithm("sft")).unmet({ rewards: [], branching: false, klInReward: false })).toBeUndefined();
});
