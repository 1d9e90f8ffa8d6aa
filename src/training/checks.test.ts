import "../../test/office.ts";
import { expect, test } from "vitest";
import { testChat } from "../../test/fixtures/chats.ts";
import { duelEnvironment, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { ConfigError } from "../core/errors.ts";
import { checkEnvironment, checkOpened } from "./checks.ts";
import { resolveConfig } from "./config/config.ts";

const letters = lettersEnvironment();
const opened = { engine: new TableEngine(lettersVocabulary), chat: testChat("qwen25"), environment: letters };

test.each([
  ["splits", { evaluation: { split: "none" } }, letters, 'evaluation.split is "none"'],
  ["rewards of turns", { algorithm: "grpo" }, { ...letters, turnRewards: true }, "rollout.turnRewards is missing"],
  ["demonstrations", { algorithm: "sft" }, letters, "algorithm.data is missing"],
] as const)("an environment is asked for its %s", async (_, user, environment, message) => {
  await expect(checkEnvironment(resolveConfig(user), environment)).rejects.toThrow(ConfigError);
  await expect(checkEnvironment(resolveConfig(user), environment)).rejects.toThrow(message);
});

test("an environment that has all that is asked for passes", async () => {
  await expect(checkEnvironment(resolveConfig(), letters)).resolves.toBeUndefined();
});

test("all that is open is asked: the engine for capabilities, the environment for forks, the chat for tools", async () => {
  const few = new TableEngine(lettersVocabulary, ["entropy-gradient"]);
  await expect(checkOpened(resolveConfig({ algorithm: "ppo" }), { ...opened, engine: few })).rejects.toThrow(
    'algorithm.kind is "ppo"; expected an engine with the capability "critic" (',
  );
  const branching = resolveConfig({ algorithm: "arpo", rollout: { tasksPerStep: 16 } });
  const bound = { ...letters, replayable: false };
  await expect(checkOpened(branching, { ...opened, environment: bound })).rejects.toThrow("rollout.branching is");
  expect(await checkOpened(branching, { ...opened, environment: { ...letters, replayable: true } })).toEqual([
    "Rollouts branch: episodes are played again, call by call.",
  ]);
  expect(await checkOpened(resolveConfig(), opened)).toEqual([]);
});

test.each([
  ["that credits a whole episode", { algorithm: "seeupo" }, {}, 'algorithm.kind is "seeupo"; expected "ppo", "grpo", '],
  [
    "whose teacher reads one conversation",
    { algorithm: { kind: "custom", advantage: { kind: "self-distillation" }, update: { kind: "reinforce" } } },
    { demonstrate: () => [] },
    'algorithm.kind is "custom"; expected "ppo", "grpo", ',
  ],
  ["on trees", { algorithm: "arpo", rollout: { tasksPerStep: 16 } }, {}, 'expected "off"'],
  ["by composed rewards", { algorithm: "grpo", rewards: [{ kind: "environment" }] }, {}, "rewards is "],
  [
    "in an environment that plays by itself",
    { algorithm: "grpo" },
    { play: () => new Promise<never>(() => {}) },
    "whose episodes are started",
  ],
] as const)("roles are refused to a run %s", async (_, user, change, message) => {
  const check = checkEnvironment(resolveConfig(user), { ...duelEnvironment(), ...change });
  await expect(check).rejects.toThrow(ConfigError);
  await expect(check).rejects.toThrow(message);
});

test("a run with roles starts an episode before its first rollout, and is refused by what that says", async () => {
  const environment = { ...duelEnvironment(), start: () => Promise.reject(new ConfigError("reward of role", "second")) };
  await expect(checkEnvironment(resolveConfig({ algorithm: "grpo" }), environment)).resolves.toBeUndefined();
  await expect(checkOpened(resolveConfig({ algorithm: "grpo" }), { ...opened, environment })).rejects.toThrow(
    'reward of role is "second"',
  );
});
