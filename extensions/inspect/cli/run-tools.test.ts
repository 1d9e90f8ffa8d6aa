import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CreditWriter } from "../../../src/runs/credits.ts";
import type { EvaluationRecord } from "../../../src/runs/records.ts";
import { addStep, newRun, trajectoryOf } from "../../../src/runs/store.fixture.ts";
import { writeEvaluation } from "../../../src/runs/write.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { compareCommand, exportCommand } from "./run-tools.ts";
import { trajectoryCommand } from "./trajectory.ts";

/** The lines that a command prints. */
async function linesOf(command: (screen: ReturnType<typeof createScreen>) => unknown): Promise<string[]> {
  let text = "";
  await command(createScreen({ write: (part: string) => (text += part), columns: 120 }));
  return text.split("\n").slice(0, -1);
}

const estimate = { mean: 0.5, low: 0.4, high: 0.6 };
function evaluated(rewards: readonly number[]): string {
  const folder = newRun();
  addStep(folder, 1, [trajectoryOf("step-1/0/0")], { success: 0.25 });
  addStep(folder, 2, [trajectoryOf("step-2/0/0")], { success: 0.75 });
  const record: EvaluationRecord = {
    ...{ when: "after", step: 2, split: "test", tasks: rewards.length, k: 1, decoding: "sampled", temperature: 1, ...estimate },
    ...{ measure: "success", passAt: [], passAll: [], reward: estimate, meanTurns: 2, toolCalls: 1, sampledTokens: 5 },
    ...{ stopReasons: {}, byKind: [], behaviours: [], byRequests: [], byTurns: [] },
  };
  const episodes = rewards.map((reward, i) => trajectoryOf(`after/${i}/0`, { task: `test/${i}`, group: `test/${i}`, reward }));
  writeEvaluation(folder, record, episodes);
  return folder;
}

test("two runs are compared on the screen: curves, means, the difference, and the tasks that differ", async () => {
  const [a, b] = [evaluated([1, 0, 0, 0]), evaluated([1, 1, 1, 0])];
  const lines = await linesOf((screen) => compareCommand(a, b, screen));
  expect(lines).toEqual([
    ...[`A  ▁█  ${a}`, `B  ▁█  ${b}`, "", "test, sampled: 4 tasks that both attempted"],
    ...["A █████░░░░░░░░░░░░░░░ 25.0 %", "B ███████████████░░░░░ 75.0 %"],
    // Two tasks of four changed, both for the better: of the 2² signs one is as extreme on each side, so p = ½.
    expect.stringMatching(/^B − A \+50\.0 points {2}\[.*\], p = 0\.50$/),
    expect.stringMatching(
      /^ {6}2 tasks better, 0 worse; \d+\.\d points or more would have been detected in four of five such comparisons$/,
    ),
    "task         kind      A        B",
    "test/1  find+call  0.0 %  100.0 %",
    "test/2  find+call  0.0 %  100.0 %",
  ]);
});

test("runs without a common evaluation have their curves alone", async () => {
  const lines = await linesOf((screen) => compareCommand(newRun(), evaluated([1]), screen));
  expect(lines.at(-1)).toBe("The two were not evaluated on the same split.");
});

test("an export names its files, and another format is refused", async () => {
  const [folder, out] = [evaluated([1]), mkdtempSync(join(tmpdir(), "retrograde-export-"))];
  expect(await linesOf((screen) => exportCommand(folder, { format: "csv", out }, screen))).toEqual([
    join(out, "steps.csv"),
    join(out, "trajectories.csv"),
  ]);
  await expect(linesOf((screen) => exportCommand(folder, { format: "xml" }, screen))).rejects.toThrow(
    '"csv", "parquet" or "html"',
  );
});

test("an episode is shown with what the update did to each turn", async () => {
  const folder = newRun();
  addStep(folder, 1, [trajectoryOf("step-1/0/0"), trajectoryOf("step-1/0/1")]);
  const writer = new CreditWriter(folder);
  const turn = { trajectory: "step-1/0/0", before: [-1, -1], old: [-1, -1] };
  writer.write(1, [
    { ...turn, optimiserStep: 0, turn: 0, learningRate: 0.2, weights: [1, 1], advantage: 2 },
    { ...turn, optimiserStep: 1, turn: 1, learningRate: 0.1, weights: [-1, 0], advantage: -1, factor: 1.5 },
  ]);
  await writer.flush();
  const shown = await linesOf((screen) => trajectoryCommand(folder, "step-1/0/0", {}, screen));
  // Weights count by their step's share of the largest learning rate: 2 · 1, and −1 · ½.
  expect(shown.slice(-4)).toEqual([
    "What the update did with its turns",
    "turn  Σ weight                  advantage    M  ratio",
    "1            2  ↑ ████████████          2    –      1",
    "2         -0.5  ↓ ███░░░░░░░░░         -1  1.5      1",
  ]);
  const alone = await linesOf((screen) => trajectoryCommand(folder, "step-1/0/1", {}, screen));
  expect(alone.at(-1)).toBe("The update left it alone: its group had no signal.");
  const [raw] = [await linesOf((screen) => trajectoryCommand(folder, "step-1/0/1", { json: true }, screen))];
  expect(JSON.parse(raw.join("\n"))).toMatchObject({ id: "step-1/0/1", turns: [{ action: [3, 4, 5] }, { action: [1, 2] }] });
  await expect(linesOf((screen) => trajectoryCommand(folder, "step-9", {}, screen))).rejects.toThrow('such as "step-1/0/0"');
});

test("an episode without credits says so, and a page of it is one file", async () => {
  const folder = newRun();
  addStep(folder, 1, [trajectoryOf("step-1/0/0")]);
  const shown = await linesOf((screen) => trajectoryCommand(folder, "step-1/0/0", {}, screen));
  expect(shown.at(-1)).toBe("No credits were recorded for it.");
  const html = join(mkdtempSync(join(tmpdir(), "retrograde-page-")), "page.html");
  writeFileSync(html, "old");
  await linesOf((screen) => trajectoryCommand(folder, "step-1/0/0", { html }, screen));
  expect(readFileSync(html, "utf8")).toMatch(/^<!doctype html>[\s\S]*Her number is c1[\s\S]*<\/html>\n$/);
});
