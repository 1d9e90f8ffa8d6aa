import { describe, expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { defaultsOf, factsOf, resolveAlgorithm, rolloutAlgorithms } from "./algorithms.ts";
import type { Composition } from "./presets/parts.ts";
import { isSeeupo } from "./seeupo/settings.ts";

test("a name means its defaults, which are those of the papers", () => {
  expect(resolveAlgorithm("seeupo")).toMatchObject({
    kind: "seeupo",
    order: "reverse",
    normalisation: "batch",
    advantageBound: "off",
    advantageFactor: true,
    clip: { low: 0.2, high: 0.2 },
    carryClip: "off",
    level: "turn",
    klCoef: 0,
    klEstimator: "k3",
    epochs: 1,
    ...{ ratioTo: "iteration", carryRatioTo: "iteration", carryRatio: "geometric" },
  });
  const clipped = { advantageBound: 3, carryClip: { low: 0.2, high: 0.2 }, ratioTo: "turn", carryRatioTo: "turn", klCoef: 0.002 };
  expect(resolveAlgorithm("seeupo-code")).toEqual({ ...resolveAlgorithm("seeupo"), kind: "seeupo-code", ...clipped });
  expect(resolveAlgorithm("sft")).toEqual({ kind: "sft", tokensPerStep: 2000 });
  expect(resolveAlgorithm({ kind: "grpo", update: { clip: { high: 0.28 } } })).toMatchObject({
    update: { clip: { low: 0.2, high: 0.28 } },
  });
});

test("a preset names its parts", () => {
  const parts = Object.fromEntries(
    rolloutAlgorithms
      .filter((kind) => !isSeeupo({ kind }) && kind !== "custom")
      .map((kind) => {
        const { advantage, update, aggregation } = resolveAlgorithm(kind) as Composition;
        const std = "std" in advantage ? `(${advantage.std})` : "";
        const level = "level" in update ? `(${update.level})` : "";
        return [kind, [advantage.kind + std, update.kind + level, aggregation]];
      }),
  );
  expect(parts).toEqual({
    ppo: ["gae", "ppu(token)", "token-mean"],
    grpo: ["group-relative(group)", "ppu(token)", "sequence-mean-token-mean"],
    "dr-grpo": ["group-relative(none)", "ppu(token)", { tokenSumOver: 1000 }],
    dapo: ["group-relative(group)", "ppu(token)", "token-mean"],
    rloo: ["leave-one-out", "reinforce(sequence)", "sequence-mean-token-mean"],
    "reinforce++": ["normalised-returns", "ppu(token)", "token-mean"],
    "reinforce++-baseline": ["normalised-group-relative", "ppu(token)", "token-mean"],
    gspo: ["group-relative(group)", "ppu(sequence)", "sequence-mean-token-mean"],
    cispo: ["group-relative(group)", "cispo", "token-mean"],
    gigpo: ["gigpo", "ppu(token)", "token-mean"],
    arpo: ["group-relative(group)", "ppu(token)", "token-mean"],
  });
});

test("papers' numbers where they differ from the parts' own", () => {
  expect(resolveAlgorithm("dapo")).toMatchObject({
    update: { clip: { low: 0.2, high: 0.28 } },
    dynamicSampling: { maxBatches: 10 },
  });
  expect(resolveAlgorithm("dapo")).not.toHaveProperty("overlong");
  expect(resolveAlgorithm("gspo")).toMatchObject({ update: { clip: { low: 3e-4, high: 4e-4 } } });
  expect(resolveAlgorithm("ppo")).toMatchObject({
    advantage: { gamma: 1, lambda: 1, critic: { valueClip: 0.5 } },
    miniBatches: 4,
  });
});

test("optimiser steps a batch are those of the sources", () => {
  const steps = Object.fromEntries(rolloutAlgorithms.map((kind) => [kind, defaultsOf(kind).miniBatches]));
  const several = { ppo: 4, gspo: 4, arpo: 8, dapo: 16, cispo: 16 };
  expect(steps).toEqual({ ...Object.fromEntries(rolloutAlgorithms.map((kind) => [kind, 1])), ...several });
});

test("custom takes any advantage with any update, both given in full", () => {
  const config = { kind: "custom", advantage: { kind: "gae", over: "turn" }, update: { kind: "cispo" } };
  expect(resolveAlgorithm(config)).toMatchObject({
    advantage: { over: "turn", lambda: 1 },
    update: { clip: { low: 1, high: 0.28 } },
  });
});

test("what an algorithm needs of an engine", () => {
  expect(factsOf(resolveAlgorithm("seeupo")).capabilities).toEqual([]);
  expect(factsOf(resolveAlgorithm("seeupo-code")).capabilities).toEqual(["reference"]);
  expect(factsOf(resolveAlgorithm({ kind: "grpo", klCoef: 0.1 })).capabilities).toEqual(["reference"]);
  expect(factsOf(resolveAlgorithm("sft")).capabilities).toEqual([]);
  expect(factsOf(resolveAlgorithm("grpo")).capabilities).toEqual([]);
  expect(factsOf(resolveAlgorithm("ppo")).capabilities).toEqual(["critic"]);
  expect(factsOf(resolveAlgorithm({ kind: "grpo", entropyCoef: 0.01 })).capabilities).toEqual(["entropy-gradient"]);
  expect(factsOf(resolveAlgorithm({ kind: "ppo", entropyCoef: 0.01 })).capabilities).toEqual(["critic", "entropy-gradient"]);
});

test("impossible mixtures do not type-check", () => {
  const impossible: UserConfig[] = [
    // @ts-expect-error a preset's advantage is of its own kind
    { algorithm: { kind: "grpo", advantage: { kind: "gae" } } },
    // @ts-expect-error a critic belongs to gae
    { algorithm: { kind: "grpo", advantage: { critic: { valueClip: 1 } } } },
    // @ts-expect-error the ratio's level is what makes it GSPO
    { algorithm: { kind: "gspo", update: { level: "token" } } },
    // @ts-expect-error REINFORCE has no ratio to clip
    { algorithm: { kind: "rloo", update: { clip: { high: 0.3 } } } },
    // @ts-expect-error only SeeUPO updates turns in an order
    { algorithm: { kind: "grpo", order: "reverse" } },
    // @ts-expect-error dynamic sampling is DAPO's
    { algorithm: { kind: "grpo", dynamicSampling: { maxBatches: 3 } } },
    // @ts-expect-error custom must name its update
    { algorithm: { kind: "custom", advantage: { kind: "tree" } } },
    // @ts-expect-error dualClip belongs to ppu
    { algorithm: { kind: "custom", advantage: { kind: "tree" }, update: { kind: "cispo", dualClip: 3 } } },
  ];
  for (const { algorithm } of impossible) expect(() => resolveAlgorithm(algorithm)).toThrow(ConfigError);
});

const kinds =
  '"seeupo", "seeupo-code", "ppo", "grpo", "dr-grpo", "dapo", "rloo", "reinforce++", "reinforce++-baseline", "gspo", "cispo", "gigpo", "arpo", "custom" or "sft"';

describe("a setting that cannot be is named, with what can", () => {
  test.each([
    ["seupo", "algorithm.kind", `algorithm.kind is "seupo"; expected ${kinds}. Did you mean "seeupo"?`],
    [{}, "algorithm.kind", `algorithm.kind is missing; expected ${kinds}.`],
    [7, "algorithm", "algorithm is 7; expected an object."],
    [{ kind: "seeupo", ordr: "reverse" }, "algorithm.ordr", 'Did you mean "order"?'],
    [{ kind: "seeupo", order: "revers" }, "algorithm.order", 'Did you mean "reverse"?'],
    [{ kind: "seeupo", order: [2, -1] }, "algorithm.order.1", "expected at least 0."],
    [{ kind: "seeupo", order: [2, 2] }, "algorithm.order", "expected turns that differ from each other."],
    [{ kind: "seeupo", clip: { low: 2 } }, "algorithm.clip.low", "expected at most 1."],
    [{ kind: "seeupo", ratioTo: "batch" }, "algorithm.ratioTo", 'expected "iteration" or "turn".'],
    [{ kind: "seeupo", klCoef: -1 }, "algorithm.klCoef", "expected at least 0."],
    [{ kind: "seeupo", dualClip: 1 }, "algorithm.dualClip", "expected more than 1."],
    [{ kind: "seeupo", divideByStd: true }, "algorithm.divideByStd", "expected no setting of this name"],
    [{ kind: "grpo", aggregation: "token" }, "algorithm.aggregation", '"token-mean"'],
    [{ kind: "grpo", aggregation: { tokenSumOver: 0 } }, "algorithm.aggregation.tokenSumOver", "expected more than 0."],
    [{ kind: "grpo", epochs: 0.5 }, "algorithm.epochs", "expected a whole number."],
    [{ kind: "grpo", advantage: { kind: "gae" } }, "algorithm.advantage.kind", 'is "gae"; expected "group-relative"'],
    [{ kind: "grpo", advantage: { std: "none" } }, "algorithm.advantage.std", 'is "none"; expected "group"'],
    [{ kind: "gspo", update: { level: "token" } }, "algorithm.update.level", 'is "token"; expected "sequence"'],
    [{ kind: "grpo", update: { clipp: {} } }, "algorithm.update.clipp", 'Did you mean "clip"?'],
    [{ kind: "dapo", overlong: { limit: 4, buffer: 5 } }, "algorithm.overlong.buffer", "expected at most the limit."],
    [{ kind: "custom", update: { kind: "ppu" } }, "algorithm.advantage", "is missing"],
    [{ kind: "custom", advantage: { kind: "gea" }, update: { kind: "ppu" } }, "algorithm.advantage.kind", 'Did you mean "gae"?'],
    [
      { kind: "custom", advantage: { kind: "gae", std: "none" }, update: { kind: "ppu" } },
      "algorithm.advantage.std",
      "The settings here are kind, over, gamma, lambda, critic.",
    ],
    [{ kind: "sft", epochs: 2 }, "algorithm.epochs", "expected no setting of this name"],
  ])("%j", (input, subject, message) => {
    const error = errorOf(() => resolveAlgorithm(input));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ subject });
    expect(String(error)).toContain(message);
  });
});

function errorOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
