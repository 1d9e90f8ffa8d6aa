import { expect, test } from "vitest";
import { z } from "zod";
import { groupOf, TableCritic, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { randomWorld, shortGroups, turn } from "../../../test/algorithms/worlds.ts";
import { randomStream } from "../../core/random.ts";
import { anyAdvantage } from "../advantages/kinds.ts";
import { resolveAlgorithm } from "../algorithms.ts";
import { anyUpdate } from "../objectives/kinds.ts";
import { policyGradientUpdate } from "../policy-gradient/policy-gradient.ts";
import { anyTerm } from "../terms/kinds.ts";
import { custom } from "./custom.ts";
import type { Composition } from "./parts.ts";

/** Two groups and a group of one, turns of unequal number and length, all returns different, states that several turns stand in. */
const replied = [
  { context: [0], action: [1] },
  { context: [0, 1, 2, 3], action: [0] },
];
const played = [
  ...shortGroups,
  groupOf("c", [{ reward: 2, turns: [turn(2, [0, 1])] }]),
  groupOf("d", [{ reward: 0, turns: replied }]),
];
/** The same with scores of two rewards, and entropies that differ. */
const groups = played.map((group) => ({
  ...group,
  trajectories: group.trajectories.map((trajectory, i) => ({
    ...trajectory,
    scores: { "reward:a": i, "reward:b": -(i ** 2) },
    turns: trajectory.turns.map((each) => ({ ...each, entropies: each.action.map((_, t) => 1 + i + t) })),
  })),
}));

const plain = { kind: "custom", advantage: { kind: "group-relative" }, update: { kind: "ppu" } };
const perTurn = { ...plain, advantage: { kind: "gigpo" } };
const by = (kind: string, settings: object = {}) => ({ ...plain, epochs: 4, update: { kind, ...settings } });
const long = { ...plain, overlong: { limit: 4, buffer: 3 } };

/** Settings that matter beside others alone: the part, the setting, two of its values, and those others. */
const settingsThatMatter: readonly [part: string, path: string, one: unknown, other: unknown, beside: object][] = [
  ["", "aggregation", "sequence-mean-token-mean", "token-mean", plain],
  ["", "aggregation", { tokenSumOver: 10 }, { tokenSumOver: 20 }, plain],
  ["", "klCoef", 0, 0.1, { ...plain, epochs: 2 }],
  ["", "klEstimator", "k1", "k3", { ...plain, klCoef: 0.5 }],
  ["", "klEstimator", "k3", "k3+", { ...plain, klCoef: 0.5, epochs: 2 }],
  ["", "klEstimator", "k1+", "abs", { ...plain, klCoef: 0.5, epochs: 2 }],
  ["", "klCutOff", 1e-4, 10, { ...plain, klCoef: 0.5, epochs: 2 }],
  ["", "klCutOff", 1e-4, "off", { ...plain, klCoef: 0.5, epochs: 2 }],
  ["", "klIn", "loss", "reward", { ...plain, klCoef: 0.5, epochs: 2 }],
  ["", "entropyCoef", 0, 0.1, plain],
  ["", "epochs", 1, 2, plain],
  ["", "miniBatches", 1, 2, plain],
  ["", "overlong.limit", 4, 5, long],
  ["", "overlong.buffer", 2, 3, long],
  ["", "overlong.penalty", 1, 2, long],
  ["gdpo", "weights", { a: 1 }, { a: 1, b: 1 }, { ...plain, advantage: { kind: "gdpo" } }],
  ["aepo", "singletonGroups", "zero", "raw", { ...plain, advantage: { kind: "aepo", entropyWeight: 0.5 } }],
  ["ppu", "dualClip", undefined, 1.01, by("ppu", { clip: { low: 1, high: 0 } })],
  ["clip-cov", "share", 1, 0.1, by("clip-cov", { covLow: 0, covHigh: 100 })],
  ["clip-cov", "covLow", 0, 1, by("clip-cov", { share: 1, covHigh: 100 })],
  ["clip-cov", "covHigh", 0.5, 100, by("clip-cov", { share: 1, covLow: 0 })],
  ["kl-cov", "coefficient", 1, 5, by("kl-cov", { share: 0.5 })],
];

async function moved(config: object): Promise<unknown> {
  const policy = new TablePolicy(randomWorld(11).table, 3, new TableCritic([0.1, 0.2, 0.3, 0.4], 0.5));
  await policyGradientUpdate(policy, groups, resolveAlgorithm(config) as Composition, randomStream(5));
  return [policy.table, policy.critic?.table];
}

test.each(settingsThatMatter)("%s %s: %j and %j move the policy differently", async (part, path, one, other, beside) => {
  const at = part === "" ? path : `${part in advantageKinds ? "advantage" : part in termKinds ? "term" : "update"}.${path}`;
  expect(await moved(withSetting(beside, at.split("."), other))).not.toEqual(
    await moved(withSetting(beside, at.split("."), one)),
  );
});

const termKinds = Object.fromEntries(anyTerm.options.map((option) => [option.shape.kind.value, option]));
const advantageKinds = Object.fromEntries(anyAdvantage.options.map((option) => [option.shape.kind.value, option]));

/** The settings of all kinds that are not in the list above. */
const found = [...anyAdvantage.options, ...anyUpdate.options, ...anyTerm.options].flatMap((option) =>
  leaves(option)
    .map(([path, schema]) => [option.shape.kind.value, path, schema] as const)
    .filter(([kind, path]) => !settingsThatMatter.some(([part, listed]) => part === kind && listed === path))
    // Read by the trainer, which opens the teacher.
    .filter(([kind]) => kind !== "distillation"),
);

test.each(found)("%s %s: some of its values move the policy differently", async (kind, path, schema) => {
  const part = kind in advantageKinds ? "advantage" : kind in termKinds ? "term" : "update";
  for (const beside of [plain, { ...plain, epochs: 4 }, perTurn]) {
    const config = { ...beside, [part]: { kind } };
    const outcomes: unknown[] = [];
    for (const value of valuesOf(schema)) {
      const changed = withSetting(config, [part, ...path.split(".")], value);
      if (!custom.settings.safeParse(changed).success) continue;
      outcomes.push(JSON.stringify(await moved(changed)));
      if (new Set(outcomes).size > 1) return;
    }
  }
  throw new Error(`No value of ${kind}.${path} moves the policy: a row of settingsThatMatter says beside what it does.`);
});

/** Values of a setting, by its schema. */
function valuesOf(schema: z.core.$ZodType): unknown[] {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return valuesOf(schema.def.innerType);
  if (schema instanceof z.ZodUnion) return schema.def.options.flatMap(valuesOf);
  if (schema instanceof z.ZodEnum) return schema.options;
  if (schema instanceof z.ZodLiteral) return [...schema.values];
  return schema instanceof z.ZodNumber ? [1e-3, 1, 0.1, 0.9, 2, 1.01, 5, 64] : [];
}

test("every setting that is no part's own is in the list above", () => {
  const listed = settingsThatMatter.filter(([part]) => part === "").map(([, path]) => path);
  const all = leaves(custom.settings).map(([path]) => path);
  // Read by the trainer, which samples.
  expect(all.filter((path) => !listed.includes(path))).toEqual(["dynamicSampling.maxBatches"]);
});

/** The settings of a schema by their paths. */
function leaves(schema: z.core.$ZodType | undefined): [path: string, schema: z.core.$ZodType][] {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return leaves(schema.def.innerType);
  if (schema === undefined || schema instanceof z.ZodLiteral || schema instanceof z.ZodDiscriminatedUnion) return [];
  if (!(schema instanceof z.ZodObject)) return [["", schema]];
  return Object.entries(schema.shape).flatMap(([key, inner]) =>
    leaves(inner).map(([rest, leaf]): [string, z.core.$ZodType] => [rest === "" ? key : `${key}.${rest}`, leaf]),
  );
}

function withSetting(config: object, [key, ...rest]: string[], value: unknown): object {
  const inner = (config as Record<string, unknown>)[key];
  return { ...config, [key]: rest.length === 0 ? value : withSetting((inner ?? {}) as object, rest, value) };
}
