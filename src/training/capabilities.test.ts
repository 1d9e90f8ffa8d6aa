import { expect, test } from "vitest";
import { resolveAlgorithm, rolloutAlgorithms } from "../algorithms/settings/config.ts";
import { ConfigError } from "../core/errors.ts";
import { type Capability, capabilities } from "../core/policy.ts";
import { requireCapabilities, requireFrozenPolicies } from "./capabilities.ts";

const engineWith = (...has: Capability[]) => ({ name: "far", parameters: 1, vocabularySize: 2, maxLength: 3, capabilities: has });
const check =
  (algorithm: unknown, ...has: Capability[]) =>
  () =>
    requireCapabilities(resolveAlgorithm(algorithm), engineWith(...has));

test("an engine with everything trains everything", () => {
  for (const kind of rolloutAlgorithms.filter((each) => each !== "custom")) expect(check(kind, ...capabilities)).not.toThrow();
});

test("an algorithm that needs a critic is refused without one, with those that need none", () => {
  expect(check("ppo", "critic")).not.toThrow();
  expect(check("ppo", "entropy-gradient")).toThrow(ConfigError);
  expect(check("ppo", "entropy-gradient")).toThrow(
    /^algorithm.kind is "ppo"; expected an engine with the capability "critic" \(far has entropy-gradient\)\. This engine can train "seeupo", "grpo"/,
  );
  expect(check("ppo")).toThrow(/far has none/);
  expect(check("ppo")).not.toThrow(/can train .*"ppo"/);
  expect(check("grpo")).not.toThrow();
});

test("an entropy bonus is refused by its setting", () => {
  expect(check({ kind: "grpo", entropyCoef: 0.01 }, "entropy-gradient")).not.toThrow();
  expect(check({ kind: "grpo", entropyCoef: 0.01 }, "critic")).toThrow(
    'algorithm.entropyCoef is 0.01; expected 0, or an engine with the capability "entropy-gradient" (far has critic).',
  );
});

test("rollouts ahead are refused where an engine cannot be sampled while it trains", () => {
  const refused = () => requireFrozenPolicies(1, engineWith("critic"));
  expect(refused).toThrow(ConfigError);
  expect(refused).toThrow('rollout.ahead is 1; expected 0, or an engine with the capability "frozen-policies" (far has critic).');
  requireFrozenPolicies(0, engineWith());
  requireFrozenPolicies(3, engineWith("frozen-policies"));
});
