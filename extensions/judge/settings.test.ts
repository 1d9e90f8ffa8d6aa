import { expect, test } from "vitest";
import { parseSettings } from "../../src/core/settings.ts";
import { rewardsSchema } from "../../src/rewards/config.ts";
import { createRewards } from "../../src/rewards/create.ts";
import { addRewards, type RewardInput } from "../../src/rewards/kinds.ts";
import { judgeReward } from "./rewards.ts";

addRewards({ judge: judgeReward });

const judge = { kind: "judge", model: "wise", baseUrl: "https://judge.example/v1" } as const;
const key = "sk-very-secret-0123456789";

const planned = (rewards: readonly RewardInput[], env: Record<string, string> = {}) =>
  createRewards(parseSettings(rewardsSchema, rewards, "rewards"), {
    code: [],
    limits: {},
    timeoutMs: 60_000,
    folder: "not-used",
    env,
  });

test.each([
  ["a judge without model", [{ kind: "judge", baseUrl: judge.baseUrl }], /rewards\.0\.model is missing/],
  ["a judge without address", [{ kind: "judge", model: "wise" }], /rewards\.0\.baseUrl is missing/],
  ["an address that is none", [{ ...judge, baseUrl: "judge.example" }], /rewards\.0\.baseUrl.*an http or https URL/],
])("%s is refused", (_, rewards, said) => {
  expect(() => planned(rewards as RewardInput[])).toThrow(said);
});

test("a judge without its key is refused, naming the variable", () => {
  expect(() => planned([judge])).toThrow(/environment variable OPENAI_API_KEY is missing.*https:\/\/judge\.example.*apiKeyEnv/);
  const named = { ...judge, apiKeyEnv: "MY_KEY" };
  expect(() => planned([named], { OPENAI_API_KEY: key, MY_KEY: "  " })).toThrow("MY_KEY is missing");
  expect(planned([named], { MY_KEY: key })).toHaveLength(1);
  expect(planned([{ ...judge, apiKeyEnv: null }])).toHaveLength(1);
});
