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
import type { Composition } from "./parts.ts";
import { custom } from "./presets.ts";

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
const gae = { ...plain, advantage: { kind: "gae" } };
const by = (kind: string, settings: object = {}) => ({ ...plain, epochs: 4, update: { kind, ...settings } });
const long = { ...plain, overlong: { limit: 4, buffer: 3 } };

/** The part, the setting, two of its values, and what else must be so for it to matter. */
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
  ["gae", "over", "token", "turn", gae],
  ["gae", "gamma", 1, 0.9, gae],
  ["gae", "lambda", 1, 0.5, gae],
  ["gae", "critic.learningRateScale", 1, 2, gae],
  ["gae", "critic.valueClip", 0.5, 0.01, { ...gae, epochs: 3 }],
  ["group-relative", "std", "group", "none", plain],
  ["group-relative", "singletonGroups", "zero", "raw", plain],
  ["leave-one-out", "singletonGroups", "zero", "raw", { ...plain, advantage: { kind: "leave-one-out" } }],
  ["normalised-returns", "gamma", 1, 0.9, { ...plain, advantage: { kind: "normalised-returns" } }],
  ["normalised-group-relative", "singletonGroups", "zero", "raw", { ...plain, advantage: { kind: "normalised-group-relative" } }],
  ["gigpo", "omega", 1, 2, perTurn],
  ["gigpo", "gamma", 0.95, 0.5, perTurn],
  ["gigpo", "mode", "mean_norm", "mean_std_norm", perTurn],
  ["gigpo", "episodeBaseline", "trajectories", "turns", perTurn],
  ["gigpo", "singletonGroups", "zero", "raw", perTurn],
  ["tree", "singletonGroups", "zero", "raw", { ...plain, advantage: { kind: "tree" } }],
  ["shared-mean", "std", "group", "none", { ...plain, advantage: { kind: "shared-mean" } }],
  ["shared-mean", "singletonGroups", "zero", "raw", { ...plain, advantage: { kind: "shared-mean" } }],
  ["length-weighted", "singletonGroups", "zero", "raw", { ...plain, advantage: { kind: "length-weighted" } }],
  ["best-of-group", "std", "group", "none", { ...plain, advantage: { kind: "best-of-group" } }],
  ["gpg", "singletonGroups", "zero", "raw", { ...plain, advantage: { kind: "gpg" } }],
  ["gdpo", "weights", { a: 1 }, { a: 1, b: 1 }, { ...plain, advantage: { kind: "gdpo" } }],
  ["tree-grpo", "singletonGroups", "zero", "raw", { ...plain, advantage: { kind: "tree-grpo" } }],
  ["aepo", "entropyWeight", 0, 0.5, { ...plain, advantage: { kind: "aepo" } }],
  ["aepo", "singletonGroups", "zero", "raw", { ...plain, advantage: { kind: "aepo", entropyWeight: 0.5 } }],
  ["echo", "alpha", 0.1, 0.2, { ...plain, term: { kind: "echo" } }],
  ["reinforce", "level", "token", "sequence", { ...perTurn, update: { kind: "reinforce" } }],
  ["ppu", "level", "token", "turn", by("ppu")],
  ["ppu", "level", "turn", "sequence", by("ppu")],
  ["ppu", "clip.low", 0.2, 0.01, by("ppu")],
  ["ppu", "clip.high", 0.2, 0.01, by("ppu")],
  ["ppu", "dualClip", undefined, 1.01, by("ppu", { clip: { low: 1, high: 0 } })],
  ["cispo", "clip.low", 1, 0.01, by("cispo")],
  ["cispo", "clip.high", 0.28, 0.01, by("cispo")],
  ["sapo", "tauPos", 1, 4, by("sapo")],
  ["sapo", "tauNeg", 1, 4, by("sapo")],
  ["gmpo", "clip.low", 0.4, 0.01, by("gmpo")],
  ["gmpo", "clip.high", 0.4, 0.01, by("gmpo")],
  ["dppo", "divergence", "tv", "kl", by("dppo", { clip: { low: 0.05, high: 0.05 } })],
  ["dppo", "clip.low", 0.2, 0.001, by("dppo")],
  ["dppo", "clip.high", 0.2, 0.001, by("dppo")],
  ["dppo", "ratioBound", 20, 1.01, by("dppo")],
  ["dro", "beta", 0.5, 5, by("dro")],
  ["clip-cov", "clip.low", 0.2, 0.01, by("clip-cov")],
  ["clip-cov", "clip.high", 0.2, 0.01, by("clip-cov")],
  ["clip-cov", "share", 1, 0.1, by("clip-cov", { covLow: 0, covHigh: 100 })],
  ["clip-cov", "covLow", 0, 1, by("clip-cov", { share: 1, covHigh: 100 })],
  ["clip-cov", "covHigh", 0.5, 100, by("clip-cov", { share: 1, covLow: 0 })],
  ["aepo-clip", "clip.low", 0.2, 0.01, by("aepo-clip")],
  ["aepo-clip", "clip.high", 0.2, 0.01, by("aepo-clip")],
  ["appo", "clip.low", 0.2, 0.01, by("appo")],
  ["appo", "clip.high", 0.28, 0.01, by("appo")],
  ["appo", "halfLife", 64, 1, by("appo")],
  ["appo", "influence", 1, 0.5, by("appo")],
  ["appo", "influenceClip", 0.2, 0.01, by("appo")],
  ["kl-cov", "share", 0.1, 0.9, by("kl-cov")],
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

test("every setting is in the list above", () => {
  const listed = new Set(settingsThatMatter.map(([part, path]) => `${part} ${path}`));
  const all = [
    ...leaves(custom).map((path) => ` ${path}`),
    ...[...anyAdvantage.options, ...anyUpdate.options, ...anyTerm.options].flatMap((option) =>
      leaves(option).map((path) => `${option.shape.kind.value} ${path}`),
    ),
  ];
  // Read by the trainer, which samples.
  expect(all.filter((setting) => !listed.has(setting))).toEqual([" dynamicSampling.maxBatches", "distillation teacher"]);
});

function leaves(schema: z.core.$ZodType | undefined): string[] {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return leaves(schema.def.innerType);
  if (schema instanceof z.ZodLiteral || schema instanceof z.ZodDiscriminatedUnion) return [];
  if (!(schema instanceof z.ZodObject)) return [""];
  return Object.entries(schema.shape).flatMap(([key, inner]) =>
    leaves(inner).map((rest) => (rest === "" ? key : `${key}.${rest}`)),
  );
}

function withSetting(config: object, [key, ...rest]: string[], value: unknown): object {
  const inner = (config as Record<string, unknown>)[key];
  return { ...config, [key]: rest.length === 0 ? value : withSetting((inner ?? {}) as object, rest, value) };
}
