import "../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import { readEvaluations } from "../../src/runs/read.ts";
import { createRun } from "../../src/runs/write.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { train } from "../../src/training/trainer.ts";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { runsSeedsCommand } from "./cli/runs-seeds.ts";
import { seedsAgainst, seedsReport } from "./seeds.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-seeds-"));
const folderOf = (name: string) => join(root, name);

async function run(name: string, changes: UserConfig): Promise<void> {
  const small: UserConfig = {
    environment: "letters",
    rollout: { tasksPerStep: 2, groupSize: 4, maxTokens: 6 },
    evaluation: { tasks: 6, k: 2 },
    steps: 1,
  };
  const config = resolveConfig(small, changes);
  const folder = folderOf(name);
  createRun(folder, config);
  await train({
    config,
    engine: new TableEngine(lettersVocabulary),
    chat: lettersChat(),
    environment: lettersEnvironment(),
    folder,
  });
}

beforeAll(async () => {
  for (const seed of [1, 2]) {
    await run(`a${seed}`, { seed, optimizer: { learningRate: 0.5 } });
    await run(`b${seed}`, { seed, optimizer: { learningRate: 0.05 } });
  }
});

const runsA = ["a1", "a2"].map(folderOf);
const runsB = ["b1", "b2"].map(folderOf);

test("seeds of one configuration: means over them, and the change paired by seed", () => {
  const { seeds, changes } = seedsReport(runsA);
  expect(seeds).toEqual([1, 2]);
  expect(changes.map(({ split, decoding }) => `${split} ${decoding}`)).toEqual(["test greedy", "test sampled"]);
  for (const { decoding, before, after, change } of changes) {
    const measured = (when: string) =>
      runsA.map((folder) => {
        const record = readEvaluations(folder).find((one) => one.when === when && one.decoding === decoding);
        return record?.mean ?? Number.NaN;
      });
    expect(before.perSeed).toEqual(measured("before"));
    expect(after.perSeed).toEqual(measured("after"));
    expect(change.success.mean).toBeCloseTo(mean(measured("after")) - mean(measured("before")), 12);
    expect(change.tasks).toBe(6);
  }
});

test("another configuration beside them, and both on the screen", () => {
  const [greedy] = seedsAgainst(runsA, runsB);
  expect(greedy.difference.success.mean).toBeCloseTo(greedy.second.success.mean - greedy.first.success.mean, 12);
  const lines: string[] = [];
  const screen = { line: (text = "") => lines.push(text), paint: { bold: (text: string) => text } };
  runsSeedsCommand(runsA, { against: runsB }, screen as unknown as Parameters<typeof runsSeedsCommand>[2]);
  expect(lines[0]).toMatch(/^2 seeds: 1, 2\./);
  expect(lines.filter((line) => line.startsWith("  change  "))).toHaveLength(2);
  expect(lines.filter((line) => line.startsWith("  against − first  "))).toHaveLength(2);
});

test("what is not several seeds of one configuration is refused, naming the setting", () => {
  expect(() => seedsReport(["a1", "b2"].map(folderOf))).toThrow(ConfigError);
  expect(() => seedsReport(["a1", "b2"].map(folderOf))).toThrow(/optimizer\.learningRate of .*b2.* 0\.05.*expected 0\.5/);
  expect(() => seedsReport(["a1", "a1"].map(folderOf))).toThrow(/seed of .*a1 is 1; expected a seed that no other run has/);
  expect(() => seedsAgainst(runsA, runsB.toReversed())).toThrow(/seeds of --against is \[2,1\]; expected \[1,2\]/);
});
