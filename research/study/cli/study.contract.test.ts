import { EventEmitter } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, onTestFinished, test, vi } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import type { RunKey } from "../definition.ts";
import { runId, runOf } from "../plan.ts";
import { outcome, smallDefinition, smallStudy } from "../small-study.fixture.ts";
import { writeOutcome } from "../store.ts";
import { type StudyFlags, studyCommand } from "./study.ts";

/** What a run's process does. @returns its exit code */
let processOf: (args: readonly string[]) => number = () => 0;
let started: string[][] = [];
vi.mock(import("node:child_process"), async (original) => {
  const spawn = (_: string, args: readonly string[]) => {
    const own = args.slice(args.indexOf("study"));
    started.push(own);
    const child = Object.assign(new EventEmitter(), { kill: () => true });
    setImmediate(() => child.emit("exit", processOf(own)));
    return child;
  };
  return { ...(await original()), spawn } as unknown as Awaited<ReturnType<typeof original>>;
});

const study = smallStudy();
const root = process.cwd();
const home = mkdtempSync(join(tmpdir(), "retrograde-study-"));
// Pages say how a study was called: by a short path, wherever the test runs.
process.chdir(home);
afterAll(() => process.chdir(root));
const file = "small.mjs";
writeFileSync(
  file,
  `export default ${JSON.stringify(smallDefinition)};
`,
);
const results = "small";
afterEach(() => {
  started = [];
  rmSync(results, { recursive: true, force: true });
});

async function run(flags: StudyFlags, name = file) {
  let text = "";
  const exitCode = await studyCommand(name, flags, createScreen({ write: (part: string) => (text += part) }));
  return { exitCode, lines: text.split("\n").filter((line) => line !== "") };
}

/** An outcome whose arm b ends higher; at the higher rate both fall. */
function write(key: RunKey, folder = results, changes: Parameters<typeof outcome>[3] = {}): void {
  const end = key.rate === 1e-3 ? 0.1 : key.arm === "b" ? 0.6 + key.seed / 100 : 0.4;
  writeOutcome(folder, outcome(study, key, [0.2, 0.3, end], changes, 20));
}
const keysOf = (seeds: readonly number[], rates = [1e-4, 1e-3]) =>
  seeds.flatMap((seed) => rates.flatMap((rate) => ["a", "b"].map((arm) => ({ world: "near", arm, rate, seed }))));

test("--dry-run says what there is to do, and starts nothing", async () => {
  const { exitCode, lines } = await run({ dryRun: true, jobs: "2" });
  expect(exitCode).toBe(0);
  expect(started).toEqual([]);
  expect(existsSync(results)).toBe(false);
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "A small study
    ARMS
      a                        A                                    {"algorithm":"grpo"}
      b                        B                                    {"algorithm":{"kind":"grpo","miniBatches":2}}
      c                        C                                    {"algorithm":"seeupo"}
    SEEDS  tuning 11, 12 on validation; reported 1, 2, 3 on test
    WORLDS
      near  Near
        2 arms: 8 runs that choose among rates (0.0001, 0.001) + 6 reported = 14 runs; 0 done; 0.1 h of one core in all, 36 s a run
        14 runs left of what is asked for
      far  Far
        3 arms: 18 runs that choose among rates (0.00001, 0.0001, 0.001) + 9 reported = 27 runs; 0 done; 2.7 h of one core in all, 360 s a run
        cannot start: it has no model.
    Left of what is asked for: 0.1 h with 2 processes on idle cores.
    Nothing was started."
  `);
});

test("measured runs decide the estimate of those that are left, and a part leaves out the others", async () => {
  for (const key of keysOf([11])) write(key);
  const { lines } = await run({ dryRun: true, arms: "a", rates: "0.0001", seeds: "1", tuningSeeds: "2" });
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "A small study
    ARMS
      a                        A                                    {"algorithm":"grpo"}
      b                        B                                    {"algorithm":{"kind":"grpo","miniBatches":2}}
      c                        C                                    {"algorithm":"seeupo"}
    SEEDS  tuning 11, 12 on validation; reported 1, 2, 3 on test
    WORLDS
      near  Near
        2 arms: 8 runs that choose among rates (0.0001, 0.001) + 6 reported = 14 runs; 4 done; 0.0 h of one core in all, 10 s a run
        2 runs left of what is asked for
      far  Far
        3 arms: 18 runs that choose among rates (0.00001, 0.0001, 0.001) + 9 reported = 27 runs; 0 done; 2.7 h of one core in all, 360 s a run
        cannot start: it has no model.
    Left of what is asked for: 0.0 h with 1 process on idle cores.
    Nothing was started."
  `);
});

test("--report writes the page, its figures and its tables, again and again the same", async () => {
  for (const key of [...keysOf([11, 12]), ...keysOf([1, 2, 3], [1e-4])]) write(key);
  const first = await run({ report: true });
  expect(first.exitCode).toBe(0);
  const files = () =>
    readdirSync(results, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.\w+$/.test(name))
      .toSorted();
  const texts = () => files().map((name) => readFileSync(join(results, name), "utf8"));
  const before = texts();
  await run({ report: true });
  expect(texts()).toEqual(before);
  for (const name of files().filter((each) => each !== "outcomes.jsonl"))
    await expect(readFileSync(join(results, name), "utf8")).toMatchFileSnapshot(
      `golden/small/${name.replace(/(?:md|json)$/, "txt")}`,
    );
  expect(started).toEqual([]);
});

test("a question's runs are started one after the other, each in a process of its own, and the page is written at the end", async () => {
  processOf = (args) => {
    write(runOf(study, args[args.indexOf("--run") + 1] ?? ""));
    return 0;
  };
  const { exitCode, lines } = await run({ question: "better", seeds: "1", keep: true });
  expect(exitCode).toBe(0);
  expect(started).toEqual(
    ["near.b.0.0001.1", "near.a.0.0001.1", "near.b.0.001.1", "near.a.0.001.1"].map((id) => [
      ...["study", file, "--run", id, "--out", results, "--keep"],
    ]),
  );
  expect(lines.slice(0, 4)).toEqual([
    "4 runs left, about 2 min 24 s: near.b.0.0001.1",
    "3 runs left, about 30 s: near.a.0.0001.1",
    "2 runs left, about 20 s: near.b.0.001.1",
    "1 runs left, about 10 s: near.a.0.001.1",
  ]);
  expect(lines.slice(4)).toContain("small/README.md");
  expect(readFileSync(join(results, "README.md"), "utf8")).toContain("# A small study");
  // What is there is not run again.
  started = [];
  await run({ question: "better", seeds: "1" });
  expect(started).toEqual([]);
});

test("a run that fails ends the study with its name; others are kept", async () => {
  processOf = (args) => {
    if (args.includes("near.a.0.0001.1")) return 3;
    write(runOf(study, args[3] ?? ""));
    return 0;
  };
  await expect(run({ question: "better", seeds: "1" })).rejects.toThrow(
    "The run near.a.0.0001.1 ended with exit code 3. What other runs have finished is kept.",
  );
  expect(readFileSync(join(results, "outcomes.jsonl"), "utf8").trim().split("\n")).toHaveLength(1);
});

test.each<[StudyFlags, RegExp]>([
  [{ question: "worse" }, /--question is "worse"; expected "better"/],
  [{ worlds: "near,nowhere" }, /--worlds is "nowhere"; expected "near" or "far"/],
  [{ arms: "z" }, /--arms is "z"; expected "a", "b" or "c"/],
  [{ rates: "0.5" }, /--rates is 0\.5; expected 0\.0001, 0\.001 or 0\.00001/],
  [{ seeds: "-1" }, /--seeds is "?-1/],
  [{ jobs: "0" }, /--jobs is "?0/],
  [{ run: "near.a.0.5.1" }, /--run is "near\.a\.0\.5\.1"; expected WORLD\.ARM\.RATE\.SEED/],
])("a part that the study does not have is refused: %j", async (flags, message) => {
  await expect(run(flags)).rejects.toThrow(message);
  expect(started).toEqual([]);
});

test("a study is found by its name, beside one's own and in this repository; another is refused", async () => {
  await expect(run({ dryRun: true }, "nothing")).rejects.toThrow(
    /study is "nothing"; expected the name of a file in .*studies, or the path/,
  );
  await expect(run({ dryRun: true }, join(home, "none.ts"))).rejects.toThrow(/study is/);
  process.chdir(root);
  onTestFinished(() => process.chdir(home));
  expect((await run({ dryRun: true }, "seeupo")).lines.at(-1)).toBe("Nothing was started.");
});

test("results in a folder of one's own have their page there", async () => {
  const own = join(home, "own");
  mkdirSync(own);
  const paged = join(home, "paged.mjs");
  const page = join(home, "published.md");
  writeFileSync(paged, `export default ${JSON.stringify({ ...smallDefinition, page })};\n`);
  await run({ report: true, out: own }, paged);
  expect(existsSync(join(own, "README.md"))).toBe(true);
  expect(existsSync(page)).toBe(false);
  await run({ report: true }, paged);
  expect(existsSync(page)).toBe(true);
});

test("runs have names that are read back", () => {
  const [key] = keysOf([11]);
  expect(key && runOf(study, runId(key))).toEqual(key);
});
