import "../../test/office.ts";
import { expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { resolveConfig, rewardsFromCode } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { createRewards } from "./create.ts";
import { defineReward } from "./reward.ts";

/** Of a kind that is not loaded: a key is refused before kinds are known. */
const judge = { kind: "judge", model: "wise", baseUrl: "https://judge.example/v1" } as const;
const key = "sk-very-secret-0123456789";

/** As a run's plan does it, with only this environment. */
function planned(rewards: unknown) {
  const user = { rewards } as UserConfig;
  const config = resolveConfig(user);
  createRewards(config.rewards ?? [], {
    code: rewardsFromCode(user),
    limits: config.limits,
    timeoutMs: 60_000,
    folder: "not-used",
    env: {},
  });
  return config;
}

function refusal(rewards: unknown): string {
  try {
    planned(rewards);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return String(error);
  }
  throw new Error("was not refused");
}

test("without rewards there is no such setting in what a run records", () => {
  expect(resolveConfig()).not.toHaveProperty("rewards");
  expect(resolveConfig({}, { rewards: undefined })).not.toHaveProperty("rewards");
});

test.each([
  ["an unknown kind", [{ kind: "lenght", free: 1, perToken: 1 }], /rewards\.0\.kind is "lenght".*Did you mean "length"/],
  ["a misspelt setting", [{ kind: "length", free: 1, pertoken: 1 }], /rewards\.0\.pertoken.*Did you mean "perToken"/],
  ["none at all", [], /rewards is \[\]; expected at least 1/],
  ["a name twice", [{ kind: "environment" }, { kind: "environment" }], /rewards\.1.*no other reward has/],
  ["the environment's name for another part", [{ kind: "format", name: "environment" }], /rewards\.0.*"environment" is taken/],
  [
    "nothing but costs",
    [
      { kind: "length", free: 1, perToken: 1 },
      { kind: "tool-cost", perCall: 1 },
    ],
    /a reward that can be earned/,
  ],
  ["a format without anything to look at", [{ kind: "format", toolCalls: false }], /toolCalls, pattern or tags/],
  ["a pattern that is none", [{ kind: "format", pattern: "(" }], /rewards\.0\.pattern is "\("; expected a regular expression/],
  ["reasoning as a tag", [{ kind: "format", tags: ["think"] }], /reasoning is taken out/],
  ["tools that cost nothing", [{ kind: "environment" }, { kind: "tool-cost" }], /a cost: perCall, or of a tool/],
  ["an infinite weight", [{ kind: "environment", weight: Number.POSITIVE_INFINITY }], /rewards\.0\.weight/],
  ["a reward from code that is not there", [{ kind: "verifiable", name: "right" }], /rewards\.0 is "right".*defineReward/],
  ["a reward from code under another name", [defineReward({ name: "a b", verify: () => 1 })], /rewards\.0\.name/],
])("%s is refused before anything is loaded", (_, rewards, said) => {
  expect(refusal(rewards)).toMatch(said);
});

test.each([
  ["as a setting", { ...judge, apiKey: key }],
  ["in the place of its variable's name", { ...judge, apiKeyEnv: key }],
  ["in the address", { ...judge, baseUrl: `https://me:${key}@judge.example/v1` }],
  ["in the address's query", { ...judge, baseUrl: `https://judge.example/v1?key=${key}` }],
  ["in headers", { ...judge, headers: { authorization: key } }],
])("a key %s is refused without showing it", (_, reward) => {
  for (const rewards of [[{ kind: "environment" }, reward], reward]) {
    const said = refusal(rewards);
    expect(said).toContain("(not shown)");
    expect(said).not.toContain(key);
  }
});

test("rewards from code are recorded by kind, name and weight, and are found again by the name", () => {
  const right = defineReward({ name: "right", weight: 2, verify: () => true });
  const best = defineReward({ name: "best", compare: (group) => group.map(() => 0) });
  const config = planned([right, best, { kind: "format" }]);
  expect(config.rewards).toEqual([
    { kind: "verifiable", name: "right", weight: 2 },
    { kind: "compare", name: "best", weight: 1 },
    { kind: "format", weight: 1, toolCalls: true, tags: [] },
  ]);
  const resumed = resolveConfig(JSON.parse(JSON.stringify(config)));
  expect(resumed).toEqual(config);
  expect(
    createRewards(resumed.rewards ?? [], { code: [best, right], limits: {}, timeoutMs: 60_000, folder: "", env: {} }),
  ).toHaveLength(3);
  expect(() =>
    createRewards(resumed.rewards ?? [], { code: [right], limits: {}, timeoutMs: 60_000, folder: "", env: {} }),
  ).toThrow(/rewards\.1 is "best"; expected "right"/);
});
