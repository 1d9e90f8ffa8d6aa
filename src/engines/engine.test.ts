import { expect, test } from "vitest";
import { EngineError } from "../core/errors.ts";
import type { Capability } from "../core/policy.ts";
import { differentAdam, type EngineInfo, missingCapability, requireCapability, requireStepOptions } from "./engine.ts";

const infoOf = (capabilities: readonly Capability[], more: Partial<EngineInfo> = {}): EngineInfo => ({
  ...{ name: "far", parameters: 1, vocabularySize: 2, maxLength: 3, capabilities, ...more },
});
const adam = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };

test("a capability that an engine lacks is named with those that it has", () => {
  expect(missingCapability(infoOf(["reference", "top-logprobs"]), "critic")).toEqual(
    new EngineError('the capability "critic" of far', undefined, {
      expected: "an engine that has it; this one has reference, top-logprobs",
      hint: "Choose another algorithm or another engine.",
    }),
  );
  expect(missingCapability(infoOf([]), "critic").message).toContain("this one has none.");
  expect(() => requireCapability(infoOf(["critic"]), "reference")).toThrow('the capability "reference" of far');
  expect(() => requireCapability(infoOf(["critic"]), "critic")).not.toThrow();
});

test("the first of Adam's settings that an engine would not take is named; one that takes them all names none", () => {
  const fixed = infoOf([], { fixedAdam: adam });
  expect(differentAdam(fixed, adam)).toBeUndefined();
  for (const name of ["beta1", "beta2", "epsilon", "weightDecay"] as const)
    expect(differentAdam(fixed, { ...adam, [name]: 0.5 })).toBe(name);
  expect(differentAdam(fixed, { beta1: 0, beta2: 0, epsilon: 0, weightDecay: 1 })).toBe("beta1");
  expect(differentAdam(infoOf(["adam-settings"]), { ...adam, beta1: 0 })).toBeUndefined();
  expect(differentAdam(infoOf([]), adam)).toBe("beta1");
});

test("options of a step need what they ask for", () => {
  const options = { ...adam, learningRate: 1, clipNorm: Number.POSITIVE_INFINITY };
  const fixed = infoOf([], { fixedAdam: adam });
  expect(() => requireStepOptions(fixed, options)).not.toThrow();
  expect(() => requireStepOptions(fixed, { ...options, clipNorm: 1 })).toThrow('the capability "gradient-clipping" of far');
  expect(() => requireStepOptions(fixed, { ...options, beta2: 0.5 })).toThrow('the capability "adam-settings" of far');
  const able = infoOf(["gradient-clipping", "adam-settings"]);
  expect(() => requireStepOptions(able, { ...options, clipNorm: 1, beta2: 0.5 })).not.toThrow();
});
