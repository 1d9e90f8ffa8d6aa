import "../../../test/office.ts";
import { expect, test } from "vitest";
import { rolloutAlgorithms } from "../../algorithms/algorithms.ts";
import { ConfigError } from "../../core/errors.ts";
import { type Capability, capabilities } from "../../core/policy.ts";
import { requireCapabilities } from "./capabilities.ts";
import { resolveConfig } from "./config.ts";
import type { UserConfig } from "./user-config.ts";

const adam = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };
const without =
  (...missing: Capability[]) =>
  (user: UserConfig) =>
  () =>
    requireCapabilities(resolveConfig(user), {
      ...{ name: "far", parameters: 1, vocabularySize: 2, maxLength: 3 },
      capabilities: capabilities.filter((each) => !missing.includes(each)),
      fixedAdam: missing.includes("adam-settings") ? adam : undefined,
    });

test("an engine with everything trains everything", () => {
  for (const kind of rolloutAlgorithms.filter((each) => each !== "custom"))
    expect(without()({ algorithm: kind, rollout: { tasksPerStep: 16 } })).not.toThrow();
});

test("an algorithm that needs a critic is refused without one, with those that need none", () => {
  const check = without("critic");
  expect(check({ algorithm: "ppo" })).toThrow(ConfigError);
  expect(check({ algorithm: "ppo" })).toThrow(
    /^algorithm.kind is "ppo"; expected an engine with the capability "critic" \(far has entropy-gradient, .*\)\. This engine can train "seeupo", "seeupo-code", "grpo"/,
  );
  expect(check({ algorithm: "ppo" })).not.toThrow(/can train .*"ppo"/);
  expect(check({ algorithm: "grpo" })).not.toThrow();
  expect(without(...capabilities)({ algorithm: "ppo" })).toThrow(/far has none/);
});

// The default run samples at temperature 1, clips gradients, and resumes exactly.
test.each<[Capability, UserConfig, string]>([
  ["entropy-gradient", { algorithm: { kind: "grpo", entropyCoef: 0.01 } }, "algorithm.entropyCoef is 0.01; expected 0, or"],
  ["reference", { algorithm: { kind: "seeupo", klCoef: 0.002 } }, "algorithm.klCoef is 0.002; expected 0, or"],
  ["tempered-logprobs", { rollout: { temperature: 0.9 } }, "rollout.temperature is 0.9; expected 1, or"],
  ["frozen-policies", { rollout: { ahead: 1 } }, "rollout.ahead is 1; expected 0, or"],
  ["top-logprobs", { algorithm: "arpo" }, 'rollout.branching.entropy is "top-10"; expected "exact", or'],
  [
    "token-entropies",
    { algorithm: "arpo", rollout: { branching: { entropy: "exact" } } },
    'rollout.branching.entropy is "exact"; expected "top-10", or',
  ],
  ["gradient-clipping", {}, 'optimizer.clipNorm is 1; expected "off", or'],
  ["adam-settings", { optimizer: { beta2: 0.999 } }, "optimizer.beta2 is 0.999; expected 0.95, or"],
  ["exact-state", {}, "checkpoint.exact is true; expected false, or"],
  ["full-precision-state", {}, "checkpoint.exact is true; expected false, or"],
])("without %s the setting that needs it is refused by name", (capability, user, message) => {
  expect(without()(user)).not.toThrow();
  expect(without(capability)(user)).toThrow(message);
  expect(without(capability)(user)).toThrow(`an engine with the capability "${capability}"`);
});

test("an engine that can do nothing more trains what needs nothing more", () => {
  const plain: UserConfig = { optimizer: { clipNorm: "off" }, checkpoint: { exact: false } };
  expect(without(...capabilities)(plain)).not.toThrow();
});
