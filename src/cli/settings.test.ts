import { expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import {
  agentFlags,
  chatFlags,
  doctorFlags,
  environmentCheckFlags,
  evaluationFlags,
  optionName,
  type SettingFlag,
  scanFlags,
  serveEnvironmentFlags,
  settingsOf,
  supervisedFlags,
  trainFlags,
} from "./settings.ts";

test("flags and --set reach the settings that they name", () => {
  const values = {
    groupSize: "4",
    out: "7",
    algorithm: "grpo",
    set: ["evaluation.tasks=64", "optimizer.schedule=cosine", "algorithm.order=[1,0]"],
  };
  expect(settingsOf(trainFlags, values)).toEqual({
    rollout: { groupSize: 4 },
    out: "7",
    algorithm: { kind: "grpo", order: [1, 0] },
    evaluation: { tasks: 64 },
    optimizer: { schedule: "cosine" },
  });
});

test("a flag without a value switches its setting on", () => {
  expect(settingsOf(trainFlags, { strict: true })).toEqual({ limits: { strict: true } });
});

test("what was not given is not set", () => {
  expect(settingsOf(trainFlags, {})).toEqual({});
});

test("an assignment without a value is refused with an example", () => {
  expect(() => settingsOf(trainFlags, { set: ["steps"] })).toThrow(ConfigError);
  expect(() => settingsOf(trainFlags, { set: ["steps"] })).toThrow("--set evaluation.tasks=64");
});

test("a path cannot reach into prototypes", () => {
  settingsOf(trainFlags, { set: ["__proto__.polluted=1", "constructor.prototype.polluted=1"] });
  expect("polluted" in {}).toBe(false);
});

test("an assignment has a path and a value, which is JSON where it is some, and may hold further signs", () => {
  const set = (...assignments: string[]) => settingsOf([], { set: assignments });
  expect(set("a.b.c=1", "a.b.d=x=y", "a.e=", 'f={"g": null}', "h=null", 'i="7"')).toEqual({
    ...{ a: { b: { c: 1, d: "x=y" }, e: "" }, f: { g: null }, h: null, i: "7" },
  });
  // What is no object is replaced by one, and an object that a value was is gone.
  expect(set("a=1", "a.b=2")).toEqual({ a: { b: 2 } });
  expect(set("a=null", "a.b=2", "a=3")).toEqual({ a: 3 });
  for (const wrong of ["", "a", "=1"])
    expect(() => set(wrong)).toThrow(
      `--set is ${JSON.stringify(wrong)}; expected path.to.setting=value. For example: --set evaluation.tasks=64 --set optimizer.schedule=cosine.`,
    );
});

test("names stay texts where they look like numbers; other flags are what they look like", () => {
  const paths = (flags: readonly SettingFlag[]) =>
    flags.map(({ flag, path }) => [path, settingsOf(flags, { [optionName(flag)]: "7" })] as const);
  const texts = [...paths(trainFlags), ...paths(evaluationFlags), ...paths(supervisedFlags)].filter(([, settings]) =>
    JSON.stringify(settings).includes('"7"'),
  );
  expect([...new Set(texts.map(([path]) => path))].toSorted()).toEqual([
    ...["algorithm.data", "algorithm.kind", "environment.name", "environment.settings.data", "evaluation.player.baseUrl"],
    ...["evaluation.split", "model", "out"],
  ]);
  expect(settingsOf(trainFlags, { strict: false, steps: 3 })).toEqual({});
});

test("an option is named as commander names it", () => {
  expect(["--group-size <n>", "--out <folder>", "--no-dashboard", "--k", "--a-b-c <x> y"].map(optionName)).toEqual([
    ...["groupSize", "out", "noDashboard", "k", "aBC"],
  ]);
});

test("each command has its flags", () => {
  const options = (flags: readonly SettingFlag[]) => flags.map(({ flag, path }) => `${optionName(flag)} ${path}`);
  const machine = ["device engine.device", "threads engine.threads"];
  const train = [
    ...["env environment.name", "algorithm algorithm.kind", "model model", "steps steps"],
    ...["tasksPerStep rollout.tasksPerStep", "groupSize rollout.groupSize", "learningRate optimizer.learningRate", "seed seed"],
    ...[...machine, "strict limits.strict", "out out"],
  ];
  expect(options(trainFlags)).toEqual(train);
  expect(options(agentFlags)).toEqual(train.slice(1));
  expect(options(supervisedFlags)).toEqual([
    ...["data algorithm.data", "tokensPerStep algorithm.tokensPerStep"],
    ...train.filter((each) => !/^(algorithm|tasksPerStep|groupSize)/.test(each)),
  ]);
  expect(options(evaluationFlags)).toEqual([
    ...["model model", "endpoint evaluation.player.baseUrl", "env environment.name", "data environment.settings.data"],
    ...["split evaluation.split", "tasks evaluation.tasks", "k evaluation.k", "temperature evaluation.temperature", "seed seed"],
    ...[...machine, "out out"],
  ]);
  expect(options(serveEnvironmentFlags)).toEqual(["env environment.name", "seed seed"]);
  expect(options(chatFlags)).toEqual([
    ...["model model", "env environment.name", "temperature evaluation.temperature", "seed seed", ...machine],
  ]);
  expect(options(environmentCheckFlags)).toEqual([
    "model model",
    "tasks evaluation.tasks",
    "seed seed",
    "threads engine.threads",
  ]);
  expect(options(scanFlags)).toEqual(["seed seed", "threads engine.threads"]);
  expect(options(doctorFlags)).toEqual(["model model", "env environment.name", ...machine]);
});
