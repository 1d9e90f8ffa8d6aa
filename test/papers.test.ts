import "../research/install.ts";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { appworldSettingsSchema } from "../research/appworld/settings.ts";
import { deepResearchSettingsSchema } from "../research/benchmarks/settings.ts";
import { bfclSettingsSchema } from "../research/bfcl/settings.ts";
import { dryRunLines } from "../src/cli/dry-run.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import { loadConfigFile, loadConfigNotes } from "../src/training/config/config-file.ts";
import type { TrainingConfig } from "../src/training/config/settings.ts";

const folder = fileURLToPath(new URL("../research/recipes/papers/", import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));

test("the published launch files' set-ups are there: SeeUPO's four on each world, and ARPO's three", () => {
  const of = (part: RegExp) => files.filter((file) => part.test(file)).length;
  expect([of(/-bfcl-/), of(/-appworld-/), of(/-arpo\.ts$/), files.length]).toEqual([4, 4, 3, 11]);
});

/** The names of a file say what is in it: MODEL-WORLD-ALGORITHM.ts. */
const nameOf = ({ model, environment, algorithm, rollout }: TrainingConfig): string => {
  const size = /qwen[\d.]+-\d+b/i.exec(model)?.[0].toLowerCase();
  const world =
    environment.name === "deep-research" ? (rollout.maxTokens === 4096 ? "reasoning" : "deep-search") : environment.name;
  return `${size}-${world}-${algorithm.kind.replace("-code", "")}.ts`;
};

test.each(files)("%s parses, and no setting of it that the paper's code has is without a source", async (file) => {
  const user = await loadConfigFile(file, folder);
  const { sources, notes } = await loadConfigNotes(file, folder);
  const config = resolveConfig(user);
  expect(nameOf(config)).toBe(file);
  if (config.environment.name === "bfcl")
    expect(bfclSettingsSchema.parse(config.environment.settings)).toMatchObject({ reward: "sparse" });
  if (config.environment.name === "appworld")
    expect(appworldSettingsSchema.parse(config.environment.settings)).toMatchObject({ reward: "seeupo", maxInteractions: 10 });
  const isArpo = config.algorithm.kind === "arpo";
  if (isArpo)
    expect(deepResearchSettingsSchema.parse(config.environment.settings).limits.responseTokens).toBe(config.rollout.maxTokens);
  const lines = dryRunLines(user, {}, sources, notes);
  expect(lines.filter((line) => line.startsWith("  optimizer.") && line.endsWith("[default]"))).toEqual([]);
  expect(lines.filter((line) => line.endsWith("[configuration file]"))).toEqual([]);
  const missing = lines.filter((line) => line.includes(" needs "));
  const tempered = expect.stringContaining('rollout.temperature = 0.9 needs "tempered-logprobs"; without it: 1');
  if (isArpo)
    expect(missing).toContainEqual(expect.stringContaining('rollout.branching.entropy = "top-10" needs "top-logprobs"'));
  else expect(missing).toContainEqual(tempered);
  expect(missing.some((line) => line.includes('"critic"'))).toBe(config.algorithm.kind === "ppo");
});

test("the numbers that set the runs apart are the launch files'", async () => {
  const config = async (file: string) => resolveConfig(await loadConfigFile(file, folder));
  const [bfcl, appworld] = [await config("qwen3-14b-bfcl-seeupo.ts"), await config("qwen3-14b-appworld-seeupo.ts")];
  expect([bfcl.rollout.maxTokens, appworld.rollout.maxTokens]).toEqual([3994, 2994]);
  expect([bfcl.checkpoint.every, appworld.checkpoint.every]).toEqual([5, 3]);
  expect([bfcl.evaluation.tasks, appworld.evaluation.tasks]).toEqual([100, 57]);
  const trees = [];
  for (const file of ["qwen2.5-7b-reasoning-arpo.ts", "qwen3-8b-deep-search-arpo.ts", "qwen3-14b-deep-search-arpo.ts"]) {
    const { rollout, steps } = await config(file);
    const { branching, groupSize, tasksPerStep } = rollout;
    trees.push([tasksPerStep, groupSize, branching === "off" ? 0 : branching.firstRollouts, rollout.maxTokens, steps]);
  }
  expect(trees).toEqual([
    [128, 16, 8, 4096, 156],
    [128, 16, 8, 10_000, 40],
    [64, 12, 6, 6192, 80],
  ]);
});

test.each(["bfcl", "appworld"])(
  "`seeupo-code` without settings is the launch file's of %s, but for what its one step does not see, rate and schedule",
  async (world) => {
    const paper = resolveConfig(await loadConfigFile(`qwen3-14b-${world}-seeupo.ts`, folder));
    const plain = resolveConfig({ algorithm: "seeupo-code" });
    // At the one step of a turn update every ratio is 1, whatever its level, and no dual clip binds.
    expect({ ...plain.algorithm, level: "token", dualClip: 3 }).toEqual(paper.algorithm);
    expect({ ...plain.optimizer, learningRate: 1e-6, schedule: "constant" }).toEqual(paper.optimizer);
  },
);

test("a value has the source of what set it last", () => {
  const user = { algorithm: { kind: "seeupo", klCoef: 0.002 }, steps: 7 } as const;
  const sources = { "algorithm.klCoef": "line 90", steps: "line 33" };
  const at = (lines: string[], path: string) => lines.find((line) => line.startsWith(`  ${path} =`));
  const plain = dryRunLines(user, {}, sources);
  expect(at(plain, "algorithm.klCoef")).toBe("  algorithm.klCoef = 0.002  [line 90]");
  expect(at(plain, "seed")).toBe("  seed = 1  [default]");
  const changed = dryRunLines(user, { algorithm: "grpo", steps: 9 }, sources);
  expect(at(changed, "algorithm.klCoef")).toBe("  algorithm.klCoef = 0  [default]");
  expect(at(changed, "algorithm.kind")).toBe('  algorithm.kind = "grpo"  [command line]');
  expect(at(changed, "steps")).toBe("  steps = 9  [command line]");
});
