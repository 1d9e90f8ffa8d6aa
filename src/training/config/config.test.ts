import "../../../test/office.ts";
import { expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { wholeContext } from "../../core/whole-context.ts";
import type { Environment } from "../../environments/environment.ts";
import { defineReward } from "../../rewards/reward.ts";
import { isEnvironment, resolveConfig, rewardsFromCode, withSettings } from "./config.ts";
import type { TrainingConfig } from "./settings.ts";
import type { UserConfig } from "./user-config.ts";

const own: Environment = {
  name: "own",
  size: () => 1,
  task: () => ({ id: "one" }),
  start: () => {
    throw new Error("not needed");
  },
};

test("an agent's messages are as long as the model's context, unless the configuration says otherwise", () => {
  const agent: Environment = { ...own, play: () => Promise.reject(new Error("not needed")) };
  const limitOf = (...given: Parameters<typeof resolveConfig>) => resolveConfig(...given).rollout.maxTokens;
  expect(limitOf({ environment: agent })).toBe(wholeContext);
  expect(limitOf({}, { environment: agent })).toBe(wholeContext);
  expect(limitOf({ environment: agent, rollout: { maxTokens: 96 } })).toBe(96);
  expect(limitOf({ environment: own })).toBe(96);
});

test("more mini-batches than a step has groups are refused before it runs, those of a preset dealt out over the groups", () => {
  expect(() => resolveConfig({ algorithm: { kind: "ppo", miniBatches: 4 }, rollout: { tasksPerStep: 2 } })).toThrow(
    "expected at most rollout.tasksPerStep: groups are dealt out whole.",
  );
  const stepsOf = (algorithm: "ppo" | "dapo" | "grpo", tasksPerStep: number) =>
    resolveConfig({ algorithm, rollout: { tasksPerStep } }).algorithm;
  expect(stepsOf("ppo", 4)).toMatchObject({ miniBatches: 4 });
  expect(stepsOf("ppo", 2)).toMatchObject({ miniBatches: 2 });
  expect(stepsOf("dapo", 32)).toMatchObject({ miniBatches: 16 });
  expect(stepsOf("dapo", 8)).toMatchObject({ miniBatches: 8 });
  expect(stepsOf("grpo", 2)).toMatchObject({ miniBatches: 1 });
});

test("an empty configuration is the default run", () => {
  const config = resolveConfig();
  expect(config.environment).toEqual({ name: "office", settings: {} });
  expect(config.algorithm.kind).toBe("seeupo");
  expect(config.evaluation.split).toBe("test");
  expect(config.evaluation.during.split).toBe("validation");
});

test("seeupo-code is the published code's, optimiser included; the other forms have the product's optimiser", () => {
  const parts = ({ algorithm, optimizer: { beta2, weightDecay, learningRate } }: TrainingConfig) =>
    "klCoef" in algorithm && { klCoef: algorithm.klCoef, beta2, weightDecay, learningRate };
  expect(parts(resolveConfig({ algorithm: "seeupo-code" }))).toEqual({
    klCoef: 0.002,
    beta2: 0.999,
    weightDecay: 0.01,
    learningRate: 1e-4,
  });
  for (const own of [{}, { algorithm: "seeupo" as const }])
    expect(parts(resolveConfig(own))).toEqual({ klCoef: 0, beta2: 0.95, weightDecay: 0, learningRate: 1e-4 });
  const own = resolveConfig({ algorithm: "seeupo-code", optimizer: { beta2: 0.9 } }).optimizer;
  expect(own).toMatchObject({ beta2: 0.9, weightDecay: 0.01 });
});

test("flags go on top of the file, setting by setting", () => {
  const config = resolveConfig({ steps: 5, rollout: { groupSize: 4, maxTurns: 3 } }, { steps: 7, rollout: { groupSize: 2 } });
  expect(config.steps).toBe(7);
  expect(config.rollout).toMatchObject({ groupSize: 2, maxTurns: 3 });
});

test("another environment takes none of the first one's settings", () => {
  const user = { environment: { name: "office", settings: { requests: 2 } } };
  expect(resolveConfig(user, { environment: "own" }).environment).toEqual({ name: "own", settings: {} });
  expect(resolveConfig(user, { environment: "office" }).environment).toEqual({ name: "office", settings: { requests: 2 } });
});

test("a setting of the default algorithm or environment can be given without naming it", () => {
  const config = resolveConfig({ algorithm: { klCoef: 0.1 } } as object, { environment: { settings: { busy: 0 } } } as object);
  expect(config.algorithm).toMatchObject({ kind: "seeupo", klCoef: 0.1 });
  expect(config.environment).toEqual({ name: "office", settings: { busy: 0 } });
});

test("an environment object is recorded by its name", () => {
  expect(isEnvironment(own)).toBe(true);
  expect(resolveConfig({ environment: own }).environment).toEqual({ name: "own", settings: {} });
});

test("a resolved configuration resolves to itself, also through JSON", () => {
  const config = resolveConfig({ steps: 9, algorithm: "grpo" });
  expect(resolveConfig(JSON.parse(JSON.stringify(config)))).toEqual(config);
});

test("a misspelt setting is refused with the name that was probably meant", () => {
  const misspelt = { optimizer: { learningrate: 1e-4 } } as object;
  expect(() => resolveConfig(misspelt)).toThrow(ConfigError);
  expect(() => resolveConfig(misspelt)).toThrow(
    'optimizer.learningrate is 0.0001; expected no setting of this name. Did you mean "learningRate"?',
  );
});

test("undefined flags change nothing", () => {
  expect(resolveConfig({ steps: 5 }, { steps: undefined, out: undefined }).steps).toBe(5);
});

test("arpo branches, with the paper's number of leaves, unless something else is said", () => {
  expect(resolveConfig({ algorithm: "arpo" }).rollout).toMatchObject({
    groupSize: 16,
    branching: { beam: 2, entropy: "top-10" },
  });
  expect(resolveConfig({ algorithm: "seeupo" }, { algorithm: { kind: "arpo" } }).rollout.groupSize).toBe(16);
  const own = { groupSize: 6, branching: { beam: 3, rule: { kind: "paper" } } } as const;
  expect(resolveConfig({ algorithm: "arpo", rollout: own }).rollout).toMatchObject({
    groupSize: 6,
    branching: { beam: 3, tokens: 20, rule: { kind: "paper", alpha: 0.5, beta: 0.2, threshold: 0.5 } },
  });
  expect(resolveConfig({ algorithm: "arpo", rollout: { branching: "off" } }).rollout.branching).toBe("off");
  expect(resolveConfig({ algorithm: "grpo" }).rollout).toMatchObject({ groupSize: 8, branching: "off" });
});

test.each([
  [{ groupSize: 4, branching: { firstRollouts: 5 } }, "rollout.branching.firstRollouts is 5; expected at most rollout.groupSize"],
  [{ branching: { beam: 1 } }, "rollout.branching.beam is 1; expected at least 2"],
  [{ branching: { beem: 2 } }, 'rollout.branching.beem is 2; expected no setting of this name. Did you mean "beam"?'],
  [{ branching: "of" }, 'rollout.branching is "of"; expected "off", or an object. Did you mean "off"?'],
  [{ branching: { rule: { kind: "papr" } } }, 'rollout.branching.rule.kind is "papr"; expected "reference", "paper"'],
  [{ branching: { rule: { kind: "paper", tau: 1 } } }, "rollout.branching.rule.tau is 1; expected no setting of this name"],
])("a tree that cannot be is named: %j", (rollout, message) => {
  expect(() => resolveConfig({ rollout: rollout as never })).toThrow(message);
});

test.each([
  [{ rollout: { tasksPerStep: 1e9 } }, "rollout.tasksPerStep is 1000000000; expected at most 100000 episodes in a step"],
  [{ evaluation: { tasks: 1e9 } }, "evaluation.tasks is 1000000000; expected at most 1000000 episodes in an evaluation"],
  [{ rollout: { maxTokens: 99999999999 } }, "rollout.maxTokens is 99999999999; expected at most 10000000"],
  [{ rollout: { concurrency: 1e9 } }, "rollout.concurrency is 1000000000; expected at most 100000"],
  [{ engine: { threads: 100000 } }, "engine.threads is 100000; expected at most 1024"],
  // A timer of Node fires at once beyond this: every episode would time out.
  [{ rollout: { episodeTimeoutMs: 3e9 } }, "rollout.episodeTimeoutMs is 3000000000; expected at most 2147483647"],
])("absurd sizes are refused, naming the value that was given: %j", (config, message) => {
  expect(() => resolveConfig(config as never)).toThrow(message);
});

test("an adapter is trained only where it is asked for", () => {
  expect(resolveConfig().engine).toEqual({ kind: "local", device: "cpu", threads: 2 });
  expect(resolveConfig({ engine: { lora: {} } }).engine).toMatchObject({ lora: { rank: 32, alpha: 32, targets: "all-linear" } });
  const both = resolveConfig({ engine: { lora: { rank: 4 } } }, { engine: { lora: { targets: ["q_proj"] } } });
  expect(both.engine).toMatchObject({ lora: { rank: 4, targets: ["q_proj"] } });
  expect(() => resolveConfig({ engine: { lora: { targets: [] } } })).toThrow("engine.lora.targets");
  expect(() => resolveConfig({ engine: { lora: { rang: 4 } } } as object)).toThrow('Did you mean "rank"?');
});

test("a sampler in 8 bits brings a correction; a base in 8 bits brings the sampler", () => {
  expect(resolveConfig().correction).toBe("off");
  for (const engine of [{ sampling: { weights: "int8" } }, { lora: { base: "int8" } }] as const) {
    const config = resolveConfig({ engine });
    expect(config.engine).toMatchObject({ sampling: { weights: "int8" } });
    expect(config.correction).toMatchObject({ level: "token", beyond: "truncate", high: 2 });
    expect(resolveConfig({ engine, correction: "off" }).correction).toBe("off");
  }
  expect(() => resolveConfig({ engine: { lora: { base: "int8" }, sampling: { weights: "float32" } } })).toThrow(
    /engine\.sampling\.weights is "float32"; expected "int8" where lora\.base is .* The frozen layers are held in no other form/,
  );
});

test("settings of the engine that exclude each other are refused with the rest, before a model is looked for", () => {
  expect(() => resolveConfig({ engine: { device: "webgpu", precision: "tf32" } })).toThrow(
    'engine.precision is "tf32"; expected "float32"',
  );
  // "auto" may choose CUDA: the engine is asked when that is known.
  expect(resolveConfig({ engine: { device: "auto", precision: "tf32" } }).engine).toMatchObject({ precision: "tf32" });
});

test("an engine is chosen by its kind, and the local one needs none", () => {
  expect(resolveConfig({ engine: "local" }).engine).toEqual(resolveConfig().engine);
  expect(resolveConfig({ engine: { threads: 1 } }, { engine: { device: "auto" } }).engine).toMatchObject({
    kind: "local",
    device: "auto",
    threads: 1,
  });
  expect(() => resolveConfig({ engine: { kind: "locl" } } as object)).toThrow(/engine\.kind is "locl"; expected "local"/);
});

test("SeeUPO has a learning rate of its own in the office, and every setting above it", () => {
  const rate = (user: UserConfig) => resolveConfig(user).optimizer.learningRate;
  expect(rate({})).toBe(1e-4);
  expect(rate({ environment: "calculator" })).toBe(2e-4);
  expect(rate({ algorithm: "grpo" })).toBe(2e-4);
  expect(rate({ optimizer: { learningRate: 5e-5 } })).toBe(5e-5);
});

test.each([
  [{ rollout: { groupSize: 1e6 } }, "rollout.groupSize"],
  [{ rollout: { tasksPerStep: 1e9 } }, "rollout.groupSize"],
  [{ evaluation: { tasks: 1e9 } }, "evaluation.tasks"],
])("%j is refused: its episodes would fill the memory", (user, setting) => {
  expect(() => resolveConfig(user)).toThrow(setting);
  expect(() => resolveConfig(user)).toThrow(ConfigError);
});

test.each([
  [{ environment: { name: "x", settings: { url: "https://ana:hunter2@host" } } }, "environment.settings.url"],
  [{ engine: { kind: "tinker", url: "https://host/?api_key=hunter2", model: "m" } }, "engine.url"],
] as const)("a secret in an address is refused without showing it, since run.json would have it", (user, setting) => {
  const attempt = () => resolveConfig(user);
  expect(attempt).toThrow(ConfigError);
  expect(attempt).toThrow(setting);
  expect(attempt).not.toThrow("hunter2");
});

test("what is no configuration at all is refused", () => {
  for (const wrong of [null, 5, "grpo", []]) {
    expect(() => resolveConfig(wrong as never)).toThrow(/^configuration is .*; expected an object with settings\.$/);
    expect(() => resolveConfig({}, wrong as never)).toThrow(/^configuration is /);
  }
  for (const [user, message] of [
    [{ algorithm: 5 }, "algorithm is 5"],
    [{ rollout: 5 }, "rollout is 5; expected an object"],
    [{ engine: 5 }, "engine is 5"],
    [{ environment: null }, "environment is null; expected an object"],
  ] as const)
    expect(() => resolveConfig(user as never)).toThrow(message);
});

test("an environment is one that can be started; anything else under its name is settings", () => {
  const none = [null, undefined, "office", { name: "office" }, { name: "x", start: true }];
  expect(none.map((value) => isEnvironment(value as never))).toEqual([false, false, false, false, false]);
  expect(isEnvironment(own)).toBe(true);
});

test("stale rollouts are corrected unless that is switched off", () => {
  const correction = (rollout: object, more: object = {}) => resolveConfig({ rollout, ...more }).correction;
  expect(correction({ ahead: 0 })).toBe("off");
  expect(correction({ ahead: 1 })).toMatchObject({ level: "token", beyond: "truncate" });
  expect(correction({ ahead: 1 }, { correction: "off" })).toBe("off");
  expect(correction({ ahead: 1 }, { correction: { high: 3 } })).toMatchObject({ high: 3 });
});

test("rewards from code are those with a function, by kind, name and weight", () => {
  const right = defineReward({ name: "right", verify: () => 1 });
  const best = defineReward({ name: "best", weight: 2, compare: () => [] });
  const others = [{ kind: "format" }, null, { name: "x", verify: true }] as never[];
  expect(rewardsFromCode({ rewards: [right, ...others, best] })).toEqual([right, best]);
  expect([rewardsFromCode({}), rewardsFromCode({ rewards: right as never })]).toEqual([[], []]);
  expect(resolveConfig({ rewards: [right, best] }).rewards).toEqual([
    { kind: "verifiable", name: "right", weight: 1 },
    { kind: "compare", name: "best", weight: 2 },
  ]);
});

test("settings are put on top of a configuration, with shorthands written in full and objects merged", () => {
  const user: UserConfig = { environment: "office", algorithm: "grpo", engine: "local", steps: 3, rollout: { groupSize: 4 } };
  expect(withSettings(user, { rollout: { maxTurns: 2 }, algorithm: { kind: "grpo", klCoef: 0.1 }, steps: undefined })).toEqual({
    ...{ environment: { name: "office" }, algorithm: { kind: "grpo", klCoef: 0.1 }, engine: { kind: "local" }, steps: 3 },
    rollout: { groupSize: 4, maxTurns: 2 },
  });
  // Another kind or name takes none of the old one's settings.
  const kept = { kind: "grpo", klCoef: 0.1 } as const;
  expect(withSettings({ algorithm: kept }, { algorithm: "ppo" })).toMatchObject({ algorithm: { kind: "ppo" } });
  expect(withSettings({ algorithm: kept }, { algorithm: "ppo" }).algorithm).not.toHaveProperty("klCoef");
  expect(withSettings({ algorithm: kept }, { algorithm: { entropyCoef: 1 } as never }).algorithm).toEqual({
    ...kept,
    entropyCoef: 1,
  });
  expect(withSettings({ evaluation: { tasks: 3 } }, { evaluation: { tasks: 0 } })).toMatchObject({ evaluation: { tasks: 0 } });
  expect(withSettings({ environment: own }, {})).toEqual({ environment: { name: "own" } });
});

test("a secret is named by its setting and shown without itself, and is no matter in an environment from code", () => {
  expect(() => resolveConfig({ environment: { name: "x", settings: { url: "https://ana:hunter2@host" } } })).toThrow(
    new ConfigError("environment.settings.url", "https://[key]@host", {
      expected: "an address without a password or a key: a run records its configuration",
      hint: "Give keys by the environment variable that the setting's page names, or make the environment in code, which is not recorded.",
    }),
  );
  const inCode = Object.assign({ ...own }, { url: "https://ana:hunter2@host" });
  expect(() => resolveConfig({ environment: inCode })).not.toThrow();
  expect(() => resolveConfig({}, { model: "https://ana:hunter2@host" })).toThrow("model is");
});
