import "../../../test/office.ts";
import { expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { resolveConfig } from "./config.ts";
import { addDefaults, chosenByEnvironment, defaultEnvironment } from "./defaults.ts";
import { playerSchema } from "./player.ts";
import { checkRoles } from "./roles.ts";
import type { UserConfig } from "./user-config.ts";

const has = '"duel" has the roles a, b';
const duel = { name: "duel", roles: ["a", "b"] };
const check =
  (user: UserConfig, more: object = {}) =>
  () =>
    checkRoles(resolveConfig(user), { ...duel, ...more });

test("roles are credited by algorithms that can, without branching and composed rewards, in episodes that are started", () => {
  expect(check({ algorithm: "grpo" })).not.toThrow();
  expect(check({ algorithm: "seeupo" }, { roles: undefined })).not.toThrow();
  expect(check({ algorithm: { kind: "sft", data: "rows.jsonl" } })).not.toThrow();
  expect(check({ algorithm: "grpo" }, { play: () => {} })).toThrow(
    new ConfigError("environment.name", "duel", {
      expected: `an environment whose episodes are started: ${has}, and holds the conversation itself`,
    }),
  );
  expect(check({ algorithm: "grpo", rollout: { branching: {} } })).toThrow(
    new ConfigError("rollout.branching", resolveConfig({ rollout: { branching: {} } }).rollout.branching, {
      expected: '"off"',
      hint: `${has}: trees of several conversations are not supported.`,
    }),
  );
  expect(check({ algorithm: "grpo", rewards: [{ kind: "environment" }] })).toThrow(
    new ConfigError("rewards", [{ kind: "environment", weight: 1 }], {
      expected: "none",
      hint: `${has}: each role is credited by the reward that the environment gives it.`,
    }),
  );
  let message = "";
  try {
    check({ algorithm: "seeupo" })();
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toMatch(/^algorithm\.kind is "seeupo"; expected "ppo", "grpo"/);
  expect(message).toContain(`${has}, and this algorithm credits a whole episode by one return.`);
  expect(message).not.toMatch(/"arpo"|"seeupo",|"custom"/);
});

test("a player's settings have their defaults, and name the key that api.openai.com wants", () => {
  const least = { baseUrl: "https://models.example/v1" };
  expect(playerSchema.parse(least)).toEqual({
    ...least,
    ...{ timeoutMs: 120_000, retries: 4, retryDelayMs: 500, maxTokensField: "max_tokens", growing: "messages", request: {} },
  });
  const refused = [
    { baseUrl: "ftp://x" },
    { baseUrl: "text" },
    { ...least, model: "" },
    { ...least, apiKeyEnv: "key" },
    { ...least, apiKeyEnv: "1KEY" },
    { ...least, timeoutMs: 0 },
    { ...least, retries: -1 },
    { ...least, retryDelayMs: -1 },
    { ...least, other: 1 },
  ];
  expect(refused.map((value) => playerSchema.safeParse(value).success)).toEqual(refused.map(() => false));
  const taken = [
    { ...least, apiKeyEnv: null, model: "m", retries: 0, retryDelayMs: 0, timeoutMs: 1 },
    { ...least, apiKeyEnv: "MY_KEY_2", growing: "prefill", maxTokensField: "max_completion_tokens" },
  ];
  expect(taken.map((value) => playerSchema.safeParse(value).success)).toEqual([true, true]);
});

test("an environment chooses settings for runs in it, by their algorithm", () => {
  const before = defaultEnvironment();
  addDefaults({ settings: { "defaults-desk": ({ kind }) => (kind === "grpo" ? { steps: 7 } : undefined) } });
  addDefaults({});
  expect(defaultEnvironment()).toEqual(before);
  expect(resolveConfig({ environment: "defaults-desk", algorithm: "grpo" }).steps).toBe(7);
  expect(resolveConfig({ environment: "defaults-desk", algorithm: "grpo", steps: 3 }).steps).toBe(3);
  expect(resolveConfig({ environment: "defaults-desk", algorithm: "ppo" }).steps).toBe(40);
  const nothing = [{}, { environment: { name: "defaults-desk" } }, { environment: { name: 5 }, algorithm: {} }];
  expect(nothing.map(chosenByEnvironment)).toEqual(nothing.map(() => undefined));
  const grpo = { kind: "grpo" };
  expect(chosenByEnvironment({ environment: { name: "defaults-desk" }, algorithm: grpo })).toEqual({ steps: 7 });
  expect(chosenByEnvironment({ environment: { name: "nowhere" }, algorithm: grpo })).toBeUndefined();
});
