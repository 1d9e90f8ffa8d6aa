import "../../../test/office.ts";
import { expect, test } from "vitest";
import { rolloutAlgorithms } from "../../algorithms/algorithms.ts";
import { ConfigError } from "../../core/errors.ts";
import { type Capability, capabilities } from "../../core/policy.ts";
import { requireCapabilities, unmetNeeds } from "./capabilities.ts";
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

test("a need says what to write instead, what the engine has and what to do, in these words", () => {
  const offer = (has: readonly Capability[]) => `(far has ${has.length === 0 ? "none" : has.join(", ")})`;
  const all = (...missing: Capability[]) => capabilities.filter((each) => !missing.includes(each));
  const message = (user: UserConfig, ...missing: Capability[]) => {
    try {
      without(...missing)(user)();
    } catch (error) {
      return (error as Error).message;
    }
    return undefined;
  };
  const change = "Change the setting, or choose another engine.";
  expect(message({ rollout: { temperature: 0.9 } }, "tempered-logprobs")).toBe(
    `rollout.temperature is 0.9; expected 1, or an engine with the capability "tempered-logprobs" ${offer(all("tempered-logprobs"))}. ${change}`,
  );
  expect(message({ rollout: { ahead: 2 } }, "frozen-policies")).toMatch(
    /This engine is either sampled or trained, not both at once\. It is so on WebGPU\.$/,
  );
  expect(message({ algorithm: "arpo" }, "top-logprobs")).toMatch(
    /Without either capability rollouts cannot branch: set rollout\.branching to "off"\.$/,
  );
  expect(message({}, "exact-state")).toMatch(
    /With false a resumed run continues near where it was, not with the same numbers\.$/,
  );
  expect(message({ optimizer: { clipNorm: 2 } }, "gradient-clipping")).toMatch(/^optimizer\.clipNorm is 2; expected "off", or/);
  expect(message({ checkpoint: { exact: false } }, "exact-state", "full-precision-state")).toBeUndefined();
});

test("every need is found, in the order in which they would be refused", () => {
  const config = resolveConfig({
    algorithm: { kind: "ppo", klCoef: 0.1, entropyCoef: 0.1 },
    rollout: { temperature: 0.5, ahead: 1, tasksPerStep: 16 },
    optimizer: { weightDecay: 1 },
  });
  const found = unmetNeeds(config, { capabilities: [], fixedAdam: adam });
  expect(found.map(({ capability, setting, value, instead }) => [capability, setting, value, instead])).toEqual([
    ["reference", "algorithm.klCoef", 0.1, "0"],
    ["critic", "algorithm.kind", "ppo", ""],
    ["entropy-gradient", "algorithm.entropyCoef", 0.1, "0"],
    ["tempered-logprobs", "rollout.temperature", 0.5, "1"],
    ["frozen-policies", "rollout.ahead", 1, "0"],
    ["gradient-clipping", "optimizer.clipNorm", 1, '"off"'],
    ["adam-settings", "optimizer.weightDecay", 1, "0"],
    ["exact-state", "checkpoint.exact", true, "false"],
    ["full-precision-state", "checkpoint.exact", true, "false"],
  ]);
  const unfixed = unmetNeeds(config, { capabilities: capabilities.filter((each) => each !== "adam-settings") });
  expect(unfixed.map(({ setting, instead }) => [setting, instead])).toEqual([["optimizer.beta1", "the server's own"]]);
  const exact = resolveConfig({ algorithm: "arpo", rollout: { branching: { entropy: "exact" } } });
  const branching = unmetNeeds(exact, { capabilities: capabilities.filter((each) => each !== "token-entropies") });
  expect(branching.map(({ capability, value, instead }) => [capability, value, instead])).toEqual([
    ["token-entropies", "exact", '"top-10"'],
  ]);
});
