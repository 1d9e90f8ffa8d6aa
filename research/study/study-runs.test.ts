import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { interruptedExitCode } from "../../src/terminal/interrupt.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { doStudy } from "./cli/study.ts";
import { type RunKey, runId } from "./definition.ts";
import { readOutcomes, writeOutcome } from "./outcome.ts";
import { outcome, smallStudy } from "./small-study.fixture.ts";

const study = smallStudy();

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "retrograde-study-runs-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

function lines() {
  let text = "";
  return { screen: createScreen({ write: (part: string) => (text += part) }), said: () => text.split("\n").slice(0, -1) };
}

/** A run whose values are 0, 1/2 and 1. */
const execute = async (_: unknown, key: RunKey, out: string) => {
  const made = outcome(study, key, [0, 0.5, 1]);
  writeOutcome(out, made);
  return made;
};

test("missing runs are made one after the other, and compared with those that are published", async () => {
  const [published, own] = [folder(), folder()];
  writeOutcome(published, outcome(study, { arm: "b", seed: 1, rate: 1e-4 }, [0, 0.5, 1]));
  writeOutcome(published, outcome(study, { arm: "a", seed: 1, rate: 1e-4 }, [0, 0.5, 0.75]));
  const { screen, said } = lines();
  const flags = { out: own, question: "better", seeds: "1" };
  expect(await doStudy(study, published, flags, screen, execute)).toBe(0);
  const run = (id: string) => expect.stringMatching(new RegExp(`^${id}  0\\.0 %  50\\.0 %  100\\.0 %   end 100\\.0 %  \\d`));
  expect(said()).toEqual(
    [
      run("near.b.0.0001.1"),
      "  equal to the published run in every task of every evaluation",
      run("near.a.0.0001.1"),
      "  not equal to the published run: 0.0 %  50.0 %  75.0 %   end 75.0 %",
      run("near.b.0.001.1"),
      run("near.a.0.001.1"),
      "First, second and their difference in points, with 95 % intervals over seeds and tasks; * marks primaries.",
      "",
      "better: Is b better?",
      "                seeds  first  second  difference  p",
      "* b − a, greedy      1  100.0   100.0           –  –",
      "* b − a, sampled     1  100.0   100.0           –  –",
      "  falls, fell        1    0.0     0.0           –  –",
    ].map((line) => (typeof line === "string" ? expect.stringMatching(pattern(line)) : line)),
  );
  expect(readOutcomes(study, own).map(runId)).toEqual([
    ...["near.b.0.0001.1", "near.a.0.0001.1", "near.b.0.001.1", "near.a.0.001.1"],
  ]);
  const again = lines();
  const none = async () => Promise.reject(new Error("nothing is missing"));
  expect(await doStudy(study, published, { ...flags, seeds: "1" }, again.screen, none)).toBe(0);
  expect(again.said()[0]).toContain("First, second");
});

/** A line with any number of spaces between its columns. */
function pattern(line: string): RegExp {
  const escaped = line.trimEnd().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replace(/ {2,}/g, " {2,}")}$`);
}

test("a run that fails ends the study with its error; one that was interrupted, with the exit code of interrupts", async () => {
  const published = folder();
  const failing = async () => Promise.reject(new Error("no memory"));
  await expect(doStudy(study, published, { seeds: "1" }, lines().screen, failing)).rejects.toThrow("no memory");
  const { screen, said } = lines();
  const interrupted = async (_: unknown, __: unknown, ___: unknown, signal?: AbortSignal) => {
    process.emit("SIGINT");
    expect(signal?.aborted).toBe(true);
    throw new Error("interrupted");
  };
  expect(await doStudy(study, published, { seeds: "1" }, screen, interrupted)).toBe(interruptedExitCode);
  expect(said()).toEqual(["Stopping: finished steps are kept. The same command continues."]);
});

test("the plan names arms with their settings; hours are those of the runs that are left", async () => {
  const { screen, said } = lines();
  const done = folder();
  writeOutcome(done, outcome(study, { arm: "a", seed: 1 }, [0, 0, 0]));
  expect(await doStudy(study, done, { dryRun: true, seeds: "1" }, screen)).toBe(0);
  expect(said()).toEqual([
    "A small study",
    '  a: A {"algorithm":"grpo"}',
    '  b: B {"algorithm":{"kind":"grpo","miniBatches":2}}',
    ...["  near.b.0.0001.1", "  near.b.0.001.1", "  near.a.0.001.1"],
    "3 runs left, about 0.3 h on an idle core. Nothing was started.",
  ]);
});

test("the report has one row a contrast: p-values of primaries from five seeds on, and a true minus", async () => {
  const own = folder();
  for (const seed of [1, 2, 3]) {
    writeOutcome(own, outcome(study, { arm: "b", seed }, [0, 0, 0.25]));
    writeOutcome(own, outcome(study, { arm: "a", seed }, [0, 0, 0.5]));
  }
  const { screen, said } = lines();
  expect(await doStudy(study, own, { report: true, question: "better" }, screen)).toBe(0);
  expect(
    said()
      .slice(1)
      .map((line) => line.replaceAll(/ {2,}/g, " | ")),
  ).toEqual([
    "",
    "better: Is b better?",
    " | seeds | first | second | difference | p",
    expect.stringMatching(/^\* b − a, greedy \| 3 \| 25\.0 \| 50\.0 \| −25\.0 \[−?[\d.]+, −?[\d.]+\] \| –$/),
    expect.stringMatching(/^\* b − a, sampled \| 3 \| 25\.0 \| 50\.0 \| −25\.0 \[−?[\d.]+, −?[\d.]+\] \| –$/),
  ]);
  const other = lines();
  expect(await doStudy(study, own, { report: true, question: "none" }, other.screen).catch((error) => error.message)).toContain(
    '--question is "none"; expected "better"',
  );
});
