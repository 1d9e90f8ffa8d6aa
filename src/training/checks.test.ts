import "../../test/office.ts";
import { expect, test } from "vitest";
import { testChat } from "../../test/fixtures/chats.ts";
import { duelEnvironment, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { ConfigError } from "../core/errors.ts";
import { checkEnvironment, checkOpened, configurationChecks, requireParts } from "./checks.ts";
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

test("each part of the reward looks at the first task before anything is written", async () => {
  const seen: string[] = [];
  const part = (name: string, check?: (task: { readonly id: string }) => void) => ({
    ...{ name, weight: 1, isCost: false, score: () => ({ values: [] }) },
    ...(check && { check }),
  });
  const rewards = [part("a", ({ id }) => void seen.push(id)), part("b"), part("c", ({ id }) => void seen.push(id))];
  await checkOpened(resolveConfig({ rollout: { split: "validation" }, seed: 3 }), { ...opened, rewards });
  expect(seen).toHaveLength(2);
  expect(seen.every((id) => id.startsWith("validation/"))).toBe(true);
  const unasked = { ...letters, task: () => expect.unreachable("no part looks at it") };
  const start = async () => ({ ...(await letters.start({ id: "x", prompt: "a" }, 0)) });
  await expect(
    checkOpened(resolveConfig({ evaluation: { tasks: 0 } }), {
      ...opened,
      environment: { ...unasked, task: () => ({ id: "x" }), start },
      rewards: [part("b")],
    }),
  ).resolves.toEqual([]);
});

const conditions: readonly (readonly [object, object, string])[] = [
  [
    { rollout: { groupSize: 4, branching: { firstRollouts: 5 } } },
    { rollout: { groupSize: 5, branching: { firstRollouts: 5 } } },
    "rollout.branching.firstRollouts is 5; expected at most rollout.groupSize, the leaves of a tree.",
  ],
  [
    { rollout: { ahead: 1, tasks: { kind: "difficulty" } } },
    { rollout: { ahead: 0, tasks: { kind: "difficulty" } } },
    'rollout.tasks is {"kind":"difficulty","hardUpTo":0.25,"easyFrom":0.75,"hardWeight":0.2,"easyWeight":0.2}; ' +
      'expected "epochs" where rollout.ahead is above 0: steps that are sampled ahead have no outcomes yet.',
  ],
  [
    { rollout: { tasksPerStep: 12_501, groupSize: 8 } },
    { rollout: { tasksPerStep: 12_500, groupSize: 8 } },
    "rollout.tasksPerStep is 12501; expected at most 100000 episodes in a step (rollout.tasksPerStep × rollout.groupSize): " +
      "all of them are in memory at once.",
  ],
  [
    { evaluation: { tasks: 500_001, k: 2 } },
    { evaluation: { tasks: 500_000, k: 2 } },
    "evaluation.tasks is 500001; expected at most 1000000 episodes in an evaluation (evaluation.tasks × evaluation.k): " +
      "all of them are in memory at once.",
  ],
  [
    { algorithm: { kind: "ppo", miniBatches: 4 }, rollout: { tasksPerStep: 3 } },
    { algorithm: { kind: "ppo", miniBatches: 4 }, rollout: { tasksPerStep: 4 } },
    "algorithm.miniBatches is 4; expected at most rollout.tasksPerStep: groups are dealt out whole.",
  ],
  [
    { algorithm: "grpo", rollout: { groupSize: 1 } },
    { algorithm: "grpo", rollout: { groupSize: 2 } },
    "rollout.groupSize is 1; expected at least 2 under an algorithm that compares the rollouts of a task: the advantage of a group of one is 0, " +
      'so nothing is learned (ppo and reinforce++ train groups of one, and so does singletonGroups "raw").',
  ],
  [
    { algorithm: { kind: "arpo", attribution: "hard" }, correction: { level: "sequence" } },
    { algorithm: { kind: "arpo", attribution: "hard" }, correction: { level: "turn" } },
    'correction.level is "sequence"; expected "token" or "turn" here: turns that branches share are trained once, so they have no one trajectory.',
  ],
  [
    { algorithm: "grpo", rollout: { branching: { rule: { kind: "appo" }, firstRollouts: { kind: "entropy" } } } },
    { algorithm: "grpo", rollout: { branching: { rule: { kind: "appo" }, firstRollouts: 2 } } },
    "rollout.branching.firstRollouts",
  ],
  [
    { algorithm: { kind: "arpo", attribution: "hard" }, rollout: { branching: { rule: { kind: "appo" } } } },
    { algorithm: { kind: "arpo", attribution: "soft" }, rollout: { branching: { rule: { kind: "appo" } } } },
    "rollout.branching.rule is ",
  ],
];

test.each(conditions)(
  "settings that exclude each other are refused, and their neighbours taken: %j",
  (refused, taken, message) => {
    expect(() => resolveConfig(refused)).toThrow(ConfigError);
    expect(() => resolveConfig(refused)).toThrow(message);
    expect(() => resolveConfig(taken)).not.toThrow();
  },
);

test("every condition names a setting, and what is expected of it", () => {
  expect(configurationChecks.map(({ setting }) => setting)).toEqual([
    ...["rollout.branching.firstRollouts", "rollout.branching.firstRollouts", "rollout.branching.rule", "rollout.tasks"],
    ...["rollout.tasksPerStep", "evaluation.tasks", "algorithm.miniBatches", "rollout.groupSize", "correction.level"],
  ]);
});

test("an algorithm's own requirements are of the run's rewards and branching", () => {
  const gdpo = (weights: Record<string, number>, more: object = {}) =>
    resolveConfig({
      algorithm: { kind: "custom", advantage: { kind: "gdpo", weights }, update: { kind: "ppu" } },
      rewards: [{ kind: "environment" }, { kind: "format", name: "form" }],
      ...more,
    } as never);
  expect(() => gdpo({ environment: 1, form: 2 })).not.toThrow();
  expect(() => gdpo({ form: 1, from: 2 })).toThrow('algorithm.advantage.weights.from is 2; expected "environment" or "form".');
  expect(() => gdpo({ environment: 1 }, { rewards: undefined })).toThrow(
    "algorithm.advantage.weights.environment is 1; expected `rewards` to weigh.",
  );
  const klIn = (klCoef: number) => ({
    algorithm: {
      kind: "custom",
      advantage: { kind: "gdpo", weights: { form: 1 } },
      update: { kind: "ppu" },
      klIn: "reward",
      klCoef,
    },
  });
  expect(() => gdpo({}, klIn(0.1))).toThrow('algorithm.advantage.kind is "gdpo"; expected algorithm.klIn "loss"');
  expect(() => gdpo({}, klIn(0))).not.toThrow();
  const tree = { kind: "custom", advantage: { kind: "carl" }, update: { kind: "ppu" } } as const;
  expect(() => resolveConfig({ algorithm: tree })).toThrow(
    /^algorithm\.advantage\.kind is "off"; expected rollout\.branching with/,
  );
  expect(() => requireParts(resolveConfig({ algorithm: tree, rollout: { branching: {} } }))).not.toThrow();
});
