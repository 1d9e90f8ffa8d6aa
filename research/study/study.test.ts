import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ConfigError, RunError } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import { randomStream } from "../../src/core/random.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { seeupo } from "../studies/seeupo.ts";
import { answersTo } from "./answers.ts";
import { doStudy, studyCommand } from "./cli/study.ts";
import { type RunKey, runId, runsOf, settingsOf } from "./definition.ts";
import { fell, type RunOutcome, readOutcomes, writeOutcome } from "./outcome.ts";
import { outcome, smallStudy } from "./small-study.fixture.ts";

const study = smallStudy();

async function printed(of: (screen: ReturnType<typeof createScreen>) => Promise<number>) {
  let text = "";
  expect(await of(createScreen({ write: (part: string) => (text += part) }))).toBe(0);
  return text;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-study-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("the published runs are of the plan, and every row of the published page is what they say", async () => {
  const page = readFileSync("research/notes/studies/seeupo.md", "utf8");
  const rows = [...page.matchAll(/^\| (?:\*\*primary\*\*|descriptive) \| (.*) \|$/gm)].map(([, row = ""]) => row.split(" | "));
  const report = await printed((screen) => studyCommand("seeupo", { report: true }, screen));
  const lines = report.split("\n").map((line) => line.replace(/^[* ] /, "").split(/ {2,}/));
  expect(rows).toHaveLength(30);
  for (const [title = "", seeds, , first, second, , difference, p] of rows) {
    const named = title.replace(/ \(greedy\)$/, ", greedy").replace(/ \(runs that fell\)$/, ", fell");
    const wanted = named === title ? `${title}, sampled` : named;
    const found = lines.filter(([label, , more, less]) => label === wanted && more === first && less === second);
    const interval = wanted.endsWith("fell") ? "–" : difference;
    expect(found, title).toContainEqual([wanted, seeds, first, second, interval, p]);
  }
});

test("a question's runs: its primaries' first, all cells with one seed before the next seed, each once", () => {
  expect(runsOf(study, { question: "better" }).map(runId)).toEqual([
    ...["near.b.0.0001.1", "near.a.0.0001.1", "near.b.0.0001.2", "near.a.0.0001.2", "near.b.0.0001.3", "near.a.0.0001.3"],
    ...["near.b.0.001.1", "near.a.0.001.1", "near.b.0.001.2", "near.a.0.001.2", "near.b.0.001.3", "near.a.0.001.3"],
  ]);
  expect(runsOf(study, { seeds: 1, arms: ["b"] }).map(runId)).toEqual(["near.b.0.0001.1", "near.b.0.001.1"]);
  expect(() => runsOf(study, { arms: ["z"] })).toThrow('--arms is "z"; expected "a" or "b".');
  expect(() => runsOf(study, { question: "toString" })).toThrow(ConfigError);
});

test("a run has its world's settings, its arm's, its rate and seed, and is measured on the split test", () => {
  const [below, above] = settingsOf(study, { world: "near", arm: "b", rate: 1e-3, seed: 2 });
  expect(below).toEqual(study.worlds.near?.config);
  expect(above).toEqual({
    algorithm: { kind: "grpo", miniBatches: 2 },
    ...{ seed: 2, optimizer: { learningRate: 1e-3 }, evaluation: { split: "test", during: { split: "test" } } },
  });
});

test("a run falls by more than 10 points below an earlier point", () => {
  const run = (means: readonly [number, number, number]) => outcome(study, { arm: "a", seed: 1 }, means, 20);
  expect(fell(run([0.2, 0.5, 0.41]))).toBe(false);
  expect(fell(run([0.2, 0.5, 0.39]))).toBe(true);
  expect(fell(run([0.5, 0.6, 0.45]))).toBe(true);
});

test("a policy that stays as it is falls in few curves: 10 points alone would decide so in half of them", () => {
  const random = randomStream(1, "falls");
  const curves = Array.from({ length: 1_000 }, () => {
    const chances = Array.from({ length: 64 }, () => random.uniform());
    return Array.from({ length: 6 }, (_, steps) => ({ steps, values: chances.map((chance) => Number(random.chance(chance))) }));
  });
  const share = (of: (curve: RunOutcome["curve"]) => boolean) => curves.filter(of).length / curves.length;
  const byPoints = (curve: RunOutcome["curve"]) => {
    const means = curve.map(({ values }) => mean(values));
    return means.some((value, i) => value < Math.max(...means.slice(0, i)) - 0.1);
  };
  expect(share(byPoints)).toBeGreaterThan(0.45);
  expect(share((curve) => fell({ curve }))).toBeLessThan(0.05);
});

/** Reported runs of which b is better by `gain` in every task of every seed; at the higher rate b falls. */
const outcomes = (gain: number, seeds: readonly number[]) =>
  seeds.flatMap((seed) => [
    outcome(study, { arm: "a", seed }, [0.2, 0.3, 0.4]),
    outcome(study, { arm: "b", seed }, [0.2, 0.3 + gain, 0.4 + gain]),
    outcome(study, { arm: "b", seed, rate: 1e-3 }, [0.2, 0.5, 0.1], 20),
    outcome(study, { arm: "a", seed, rate: 1e-3 }, [0.2, 0.5, 0.5], 20),
  ]);

test("a question compares two cells on the seeds that both have; a p-value needs five seeds, and is of primaries alone", () => {
  const { better } = study.questions;
  if (better === undefined) throw new Error("no question");
  const few = answersTo(better, [...outcomes(0.25, [3, 1]), outcome(study, { arm: "b", seed: 2 }, [0, 0, 0])]);
  expect(few.map(({ seeds }) => seeds)).toEqual([
    [1, 3],
    [1, 3],
    [1, 3],
  ]);
  expect(few.map(({ isPrimary }) => isPrimary)).toEqual([true, true, false]);
  expect(few[0]?.values).toEqual([expect.closeTo(0.65, 12), expect.closeTo(0.4, 12)]);
  expect(few[0]?.difference?.mean).toBeCloseTo(0.25, 12);
  expect([few[2]?.values, few[2]?.difference]).toEqual([[1, 0], undefined]);
  const five = answersTo(better, outcomes(0.25, [1, 2, 3, 4, 5]));
  expect(few.map(({ pValue }) => pValue)).toEqual([undefined, undefined, undefined]);
  expect(five.map(({ pValue }) => pValue !== undefined)).toEqual([true, true, false]);
  const [one, none] = [answersTo(better, outcomes(0.25, [1])), answersTo(better, [])];
  expect([one[0]?.seeds, one[0]?.difference]).toEqual([[1], undefined]);
  expect([none[0]?.seeds, none[0]?.values]).toEqual([[], undefined]);
});

test("greedy and sampled attempts are each compared by themselves", () => {
  const shifted = outcomes(0.25, [1, 2]).map((run) => ({
    ...run,
    final: { ...run.final, greedy: run.final.sampled.map(() => (run.arm === "b" ? 0.9 : 0.4)) },
  }));
  const [greedy, sampled] = answersTo(study.questions.better as never, shifted);
  expect([greedy?.outcome, sampled?.outcome]).toEqual(["greedy", "sampled"]);
  expect(greedy?.difference?.mean).toBeCloseTo(0.5, 12);
  expect(sampled?.difference?.mean).toBeCloseTo(0.25, 12);
});

test("outcomes are kept as lines: those of another plan and damaged ones are refused, those by which rates were chosen left out", () => {
  const folder = temporaryFolder();
  const path = join(folder, "outcomes.jsonl");
  expect(readOutcomes(study, folder)).toEqual([]);
  const kept = outcome(study, { arm: "a", seed: 1 }, [0, 0, 1]);
  const tuning = { ...outcome(study, { arm: "a", seed: 101 }, [0, 0, 1]), plan: "of another time" };
  for (const each of [kept, tuning]) writeOutcome(folder, each);
  expect(readOutcomes(study, folder)).toEqual([kept]);
  const near = { ...study.worlds.near, config: { steps: 3 } } as never;
  expect(() => readOutcomes({ ...study, worlds: { near } }, folder)).toThrow("of another plan");
  writeFileSync(path, "{\n");
  expect(() => readOutcomes(study, folder)).toThrow(RunError);
  expect(() => readOutcomes(study, folder)).toThrow(/outcomes\.jsonl, line 1 .*Delete the line to run it again/s);
});

test("--dry-run names what is missing and its hours, --report what is there, and neither starts anything", async () => {
  const folder = temporaryFolder();
  const keys: RunKey[] = runsOf(study, { question: "better", seeds: 1 });
  writeOutcome(folder, outcome(study, { arm: "a", seed: 1 }, [0.2, 0.3, 0.4]));
  const plan = await printed((screen) => doStudy(study, folder, { dryRun: true, seeds: "1" }, screen));
  for (const key of keys) expect(plan.includes(`  ${runId(key)}\n`)).toBe(runId(key) !== "near.a.0.0001.1");
  expect(plan).toContain("3 runs left, about 0.3 h on an idle core. Nothing was started.");
  const report = await printed((screen) => doStudy(study, folder, { report: true }, screen));
  expect(report).toContain("better: Is b better?\nno run is done");
  const missing = studyCommand("arpo", { report: true }, createScreen({ write: () => true }));
  await expect(missing).rejects.toThrow('study is "arpo"; expected "seeupo".');
});

test("the plan of SeeUPO's study: 100 runs of the office and 9 of the calculator", () => {
  const runs = runsOf(seeupo);
  expect(runs.filter(({ world }) => world === "office")).toHaveLength(100);
  expect(runs.filter(({ world }) => world === "calculator")).toHaveLength(9);
  expect(readOutcomes(seeupo, "research/studies/seeupo")).toHaveLength(109);
});
