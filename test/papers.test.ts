import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { dryRunLines } from "../src/cli/dry-run.ts";
import { bfclSettingsSchema } from "../src/environments/bfcl/settings.ts";
import { resolveConfig } from "../src/training/config.ts";
import { loadConfigFile, loadConfigNotes } from "../src/training/config-file.ts";

const folder = fileURLToPath(new URL("../recipes/papers/", import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));

test("SeeUPO's ten set-ups on BFCL are there", () => {
  expect(files).toHaveLength(10);
});

test.each(files)("%s parses, and no setting of it is without a source", async (file) => {
  const user = await loadConfigFile(file, folder);
  const { sources, notes } = await loadConfigNotes(file, folder);
  const config = resolveConfig(user);
  expect(bfclSettingsSchema.parse(config.environment.settings)).toMatchObject({ reward: "sparse" });
  expect(file).toBe(`${/(qwen[\d.]+-14b)/i.exec(config.model)?.[1].toLowerCase()}-bfcl-${config.algorithm.kind}.ts`);
  const lines = dryRunLines(user, {}, sources, notes);
  expect(lines.filter((line) => line.startsWith("  optimizer.") && line.endsWith("[default]"))).toEqual([]);
  expect(lines.filter((line) => line.endsWith("[configuration file]"))).toEqual([]);
  const missing = lines.filter((line) => line.includes(" needs "));
  expect(missing).toContainEqual(expect.stringContaining('rollout.temperature = 0.9 needs "tempered-logprobs"; without it: 1'));
  expect(missing.some((line) => line.includes('"critic"'))).toBe(config.algorithm.kind === "ppo");
});

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
