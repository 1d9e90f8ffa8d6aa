import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { EvaluationRecord } from "../../../src/runs/records.ts";
import { trajectoryOf } from "../../../src/runs/store.fixture.ts";
import { createRun, writeEvaluation } from "../../../src/runs/write.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { summarise } from "../../../src/training/evaluation/summarise.ts";
import { runsSeedsCommand } from "./runs-seeds.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-seeds-"));
afterAll(() => rmSync(root, { recursive: true }));

interface Measured {
  readonly when: "before" | "after";
  readonly split?: string;
  readonly decoding?: "greedy" | "sampled";
  /** Of tasks, one attempt each. */
  readonly successes: readonly number[];
  readonly behaviours?: EvaluationRecord["behaviours"];
}

function run(name: string, seed: number, measured: readonly Measured[], settings: object = {}): string {
  const folder = join(root, name);
  createRun(folder, { seed, steps: 1, out: name, algorithm: { kind: "grpo" }, environment: { name: "office" }, ...settings });
  for (const { when, split = "test", decoding = "greedy", successes, behaviours } of measured) {
    const groups = successes.map((reward, task) => ({
      id: `${split}/${task}`,
      trajectories: [trajectoryOf(`${when}/${split}/${decoding}/${task}/0`, { task: `${split}/${task}`, reward })],
    }));
    const record = {
      ...{ when, step: when === "before" ? 0 : 1, split, decoding, temperature: decoding === "greedy" ? 0 : 1, madeOf: "x" },
      ...summarise(groups, groups, 1),
      ...(behaviours === undefined ? {} : { behaviours }),
    };
    writeEvaluation(
      folder,
      record,
      groups.flatMap(({ trajectories }) => trajectories),
    );
  }
  return folder;
}
const [none, some, all] = [
  [0, 0, 0, 0],
  [1, 1, 0, 0],
  [1, 1, 1, 1],
];
const both = (before: readonly number[], after: readonly number[]): Measured[] => [
  { when: "before", successes: before },
  { when: "after", successes: after },
];
const printed = (...given: Parameters<typeof runsSeedsCommand> extends [infer A, infer B, unknown] ? [A, B] : never) => {
  let out = "";
  runsSeedsCommand(given[0], given[1], createScreen({ write: (part: string) => (out += part) }));
  return out.trimEnd().split("\n");
};
const asks = (done: number, called: number) => [{ name: "asks first", done, called }] as EvaluationRecord["behaviours"];

test("seeds are one result: before, after by seed, the change, and behaviours over all episodes", () => {
  const of = (name: string, seed: number, after: readonly number[], done: number) =>
    run(name, seed, [
      { when: "before", successes: none, behaviours: asks(1, 4) },
      { when: "after", successes: after, behaviours: asks(done, 4) },
    ]);
  const folders = [of("a1", 1, all, 4), of("a2", 2, some, 2)];
  expect(printed(folders, {})).toEqual([
    "2 seeds: 1, 2. 95 % intervals over seeds and tasks",
    "",
    "test, greedy: 4 tasks",
    expect.stringMatching(/^ {2}before {2}0\.0 % {2}\[0\.0, \d+\.\d\]$/),
    expect.stringMatching(/^ {2}after {3}75\.0 % {2}\[\d+\.\d, 100\.0\] {2}by seed 100\.0 %, 50\.0 %$/),
    expect.stringMatching(/^ {2}change {2}\+75\.0 points {2}\[\S+, \S+\]$/),
    "  behaviour   before   after",
    "  asks first  25.0 %  75.0 %",
  ]);
  const json = JSON.parse(printed(folders, { json: true }).join("\n"));
  expect(Object.keys(json)).toEqual(["seeds", "changes"]);
  expect(json).toMatchObject({ seeds: [1, 2], changes: [{ split: "test", after: { perSeed: [1, 0.5] } }] });
});

test("another configuration is beside them, paired by seed and task", () => {
  const first = [run("b1", 1, both(none, some)), run("b2", 2, both(none, some))];
  const against = [1, 2].map((seed) => run(`c${seed}`, seed, both(none, all), { algorithm: { kind: "ppo" } }));
  expect(printed(first, { against }).slice(-5)).toEqual([
    "",
    "after training, test, greedy",
    expect.stringMatching(/^ {2}first {4}50\.0 % {2}\[\S+, \S+\]$/),
    expect.stringMatching(/^ {2}against {2}100\.0 % {2}\[\S+, 100\.0\] {2}by seed 100\.0 %, 100\.0 %$/),
    expect.stringMatching(/^ {2}against − first {2}\+50\.0 points {2}\[\S+, \S+\], paired by seed and task$/),
  ]);
  const json = JSON.parse(printed(first, { against, json: true }).join("\n"));
  expect(json.against).toMatchObject([{ split: "test", decoding: "greedy", difference: { success: { mean: 0.5 } } }]);
});

test("one seed says so; greedy comes before sampled, and the challenge last", () => {
  const ends = [
    { when: "after", split: "challenge", decoding: "sampled", successes: all },
    { when: "after", split: "challenge", successes: all },
    { when: "after", decoding: "sampled", successes: all },
    { when: "after", successes: all },
  ] as const;
  const folder = run("d1", 1, [...ends, ...ends.map((end) => ({ ...end, when: "before" as const }))]);
  const lines = printed([folder], {});
  expect(lines.slice(0, 2)).toEqual([
    "1 seed: 1. 95 % intervals over seeds and tasks",
    "One seed says nothing of others: its interval is that of the tasks.",
  ]);
  expect(lines.filter((line) => line.includes(": 4 tasks"))).toEqual([
    ...["test, greedy: 4 tasks", "test, sampled: 4 tasks", "challenge, greedy: 4 tasks", "challenge, sampled: 4 tasks"],
  ]);
});

test("runs that cannot be put together are refused with what differs", () => {
  const folder = run("e1", 1, both(none, all));
  const other = run("e2", 2, both(none, all), { algorithm: { kind: "ppo" } });
  expect(() => printed([folder, other], {})).toThrow(
    `algorithm.kind of ${other} is "ppo"; expected "grpo", that of ${folder}. Runs of several seeds differ in nothing else. Compare two`,
  );
  const less = run("e3", 3, both(none, all), { steps: undefined });
  expect(() => printed([folder, less], {})).toThrow(`steps of ${less} is missing; expected 1, that of ${folder}.`);
  const open = run("f1", 1, [{ when: "before", successes: none }]);
  expect(() => printed([open], {})).toThrow(
    `the evaluation after training is missing; expected one in ${open}. The run is unfinished, or had evaluation.tasks=0.`,
  );
  const late = run("f2", 2, [{ when: "after", successes: all }]);
  expect(() => printed([late], {})).toThrow(
    `the evaluation before training is missing; expected one on test, greedy, in ${late}. The run is unfinished, or was evaluated`,
  );
});
