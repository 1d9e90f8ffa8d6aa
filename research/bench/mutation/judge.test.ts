import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isNoticed, isSource, isTest, judge, type Result, readResults, scoreLines } from "./judge.ts";
import { keyOf, type Mutant } from "./mutants.ts";
import { filesBelow, makeSandbox } from "./sandbox.ts";
import { judged } from "./schemata.ts";

const source = "const a = true;\n";
const mutant: Mutant = {
  ...{ file: "src/part/a.ts", kind: "BooleanLiteral", original: "true", replacement: "false" },
  location: { start: { line: 0, column: 10 }, end: { line: 0, column: 14 } },
};

/** A copy of a project with one source, where vitest ends as it is told by the file of the tests. */
function project(ends: Readonly<Record<string, "passed" | "failed" | "timed out">>, types = false) {
  const sandbox = mkdtempSync(join(tmpdir(), "judge-"));
  mkdirSync(join(sandbox, "src/part"), { recursive: true });
  const path = join(sandbox, mutant.file);
  writeFileSync(path, source);
  const runs: unknown[][] = [];
  const run = {
    vitest: async (_: string, args: readonly string[], seconds: number) => {
      const isSound = readFileSync(path, "utf8") === source;
      runs.push(isSound ? ["sound", args] : [args, seconds]);
      const status = ends[`${isSound ? "sound " : ""}${args[3]}`] ?? "passed";
      return { status, output: "no" } as const;
    },
    types: async () => {
      runs.push(["types"]);
      return types;
    },
  };
  return { sandbox, path, runs, run };
}
const near = { file: "src/part/a.test.ts", name: "near (a)", seconds: 1 };
const far = { file: "src/b.test.ts", name: "far", seconds: 2 };
const key = keyOf(mutant);
const result = (status: Result["status"], tests: number, leftOut = 0): Result => ({
  ...{ key, folder: "src", kind: "BooleanLiteral", status, tests, leftOut },
});

test("an open mutant is tried by the tests beside it, then by the others, then by the types", async () => {
  const { sandbox, path, runs, run } = project({});
  expect(await judge(sandbox, mutant, { status: "open", covering: [far, near] }, 60, run)).toEqual(result("survived", 2));
  expect(runs).toEqual([
    [["--bail=1", "-t", "^(?:near \\(a\\))$", near.file], 38],
    [["--bail=1", "-t", "^(?:far)$", far.file], 43],
    ["types"],
  ]);
  expect(readFileSync(path, "utf8")).toBe(source);
});

test.each([
  ["killed", { [near.file]: "failed" }, 2],
  ["timed out", { [near.file]: "timed out" }, 2],
  ["killed", { [far.file]: "failed" }, 3],
] as const)("%s, by %j", async (status, ends, tried) => {
  const { sandbox, path, runs, run } = project(ends);
  expect(await judge(sandbox, mutant, { status: "open", covering: [near, far] }, 60, run)).toEqual(result(status, 2));
  expect(runs).toHaveLength(tried);
  expect(runs.at(-1)?.[0]).toBe("sound");
  expect(readFileSync(path, "utf8")).toBe(source);
});

test("tests that fail without the mutant, too, judge nothing", async () => {
  const { sandbox, path, run } = project({ [near.file]: "failed", [`sound ${near.file}`]: "failed" });
  await expect(judge(sandbox, mutant, { status: "open", covering: [near] }, 60, run)).rejects.toThrow(
    `Tests fail without ${key}, too:\nno`,
  );
  expect(readFileSync(path, "utf8")).toBe(source);
});

test("names too long for one command are run in several", async () => {
  const { sandbox, runs, run } = project({});
  const covering = ["a", "b", "c"].map((name) => ({ ...far, name: name.repeat(60_000) }));
  covering.push({ ...far, name: "d" });
  expect(await judge(sandbox, mutant, { status: "open", covering }, 60, run)).toEqual(result("survived", 4));
  expect(runs.slice(0, -1).map(([args]) => (args as string[])[2]?.length)).toEqual([60_006, 60_006, 60_008]);
});

test("what the budget leaves out is counted; the shortest test always runs", async () => {
  const { sandbox, runs, run } = project({});
  expect(await judge(sandbox, mutant, { status: "open", covering: [far, near] }, 2, run)).toEqual(result("survived", 1, 1));
  expect(await judge(sandbox, mutant, { status: "open", covering: [far] }, 1, run)).toEqual(result("survived", 1));
  expect(await judge(sandbox, mutant, { status: "open", covering: [near, far] }, 3, run)).toEqual(result("survived", 2));
  expect(runs).toHaveLength(2 + 2 + 3);
});

test("a mutant that no test passes, one that types refuse, and one that was judged before", async () => {
  const bare = project({});
  expect(await judge(bare.sandbox, mutant, undefined, 60, bare.run)).toEqual(result("not covered", 0));
  const typed = project({}, true);
  expect(await judge(typed.sandbox, mutant, { status: "open", covering: [near] }, 60, typed.run)).toEqual(result("refused", 1));
  const known = project({});
  expect(await judge(known.sandbox, mutant, { status: "killed", covering: [near] }, 60, known.run)).toEqual(result("killed", 1));
  expect(known.runs).toEqual([]);
});

test("the score of each ring and of all, with its interval", () => {
  const results = [
    ...[result("killed", 1), result("survived", 1), result("timed out", 1), result("refused", 1)],
    { ...result("not covered", 0), folder: "research" },
  ];
  expect(results.map(isNoticed)).toEqual([true, false, true, true, false]);
  expect(scoreLines(["src", "entries", "research"], results)).toEqual([
    "src                  4 mutants: 1 killed, 1 timed out, 1 refused, 1 survived, 0 not covered; score 75.0 % [19.4 %, 99.4 %]",
    "research             1 mutants: 0 killed, 0 timed out, 0 refused, 0 survived, 1 not covered; score 0.0 % [0.0 %, 97.5 %]",
    "all                  5 mutants: 1 killed, 1 timed out, 1 refused, 1 survived, 1 not covered; score 60.0 % [14.7 %, 94.7 %]",
  ]);
  const file = join(mkdtempSync(join(tmpdir(), "results-")), "results.jsonl");
  expect(readResults(file)).toEqual(new Map());
  writeFileSync(file, `${JSON.stringify(result("survived", 1))}\n\n${JSON.stringify(result("killed", 2))}\n`);
  expect(readResults(file)).toEqual(new Map([[key, result("killed", 2)]]));
});

test("sources and unit tests by their names", () => {
  const names = [
    "a.ts",
    "a.test.ts",
    "a.fixture.ts",
    "a.test-d.ts",
    "a.contract.test.ts",
    "a.slow.test.ts",
    "a.tsx",
    "b/c.ts",
    "a.ts.md",
  ];
  expect(names.filter(isSource)).toEqual(["a.ts", "b/c.ts"]);
  expect(names.filter(isTest)).toEqual(["a.test.ts"]);
});

test("a copy of the project: folders of code are copied, the others are links", () => {
  const root = join(mkdtempSync(join(tmpdir(), "project-")), "root");
  for (const folder of ["src/a", ".git", "node_modules", "test"]) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, "src/a/b.ts"), "b");
  writeFileSync(join(root, "src/c.ts"), "c");
  writeFileSync(join(root, "package.json"), "{}");
  const sandbox = join(root, "../out/project");
  mkdirSync(sandbox, { recursive: true });
  writeFileSync(join(sandbox, "old"), "");
  makeSandbox(root, sandbox);
  expect(readFileSync(join(sandbox, "src/a/b.ts"), "utf8")).toBe("b");
  writeFileSync(join(sandbox, "src/c.ts"), "changed");
  expect(readFileSync(join(root, "src/c.ts"), "utf8")).toBe("c");
  expect(readlinkSync(join(sandbox, "node_modules"))).toBe(join(root, "node_modules"));
  expect(readlinkSync(join(sandbox, "package.json"))).toBe(join(root, "package.json"));
  expect([existsSync(join(sandbox, ".git")), existsSync(join(sandbox, "old"))]).toEqual([false, false]);
  expect(filesBelow(root, "src", isSource)).toEqual(["src/a/b.ts", "src/c.ts"]);
});

test("what lines of many mutants say: killed, without end, or open, and by which tests they are passed", () => {
  const mutants = ["1", "2", "3"].map((replacement) => ({ ...mutant, replacement }));
  const ids = new Map(mutants.map((each) => [keyOf(each), each.replacement]));
  const trial = (id: string, name: string) => ({ id, file: "/s/a.test.ts", name });
  const lines = [
    { event: "test", file: "/s/a.test.ts", name: "x", seconds: 2, ids: ["1", "2"], loaded: [] },
    { event: "test", file: "/s/b.test.ts", name: "y", seconds: 1, ids: [], loaded: ["3", "1"] },
    { event: "begin", ...trial("1", "x") },
    { event: "end", ...trial("1", "x"), result: "killed", seconds: 2 },
    { event: "begin", ...trial("2", "x") },
  ] as const;
  const [x, y] = [
    { file: "a.test.ts", name: "x", seconds: 2 },
    { file: "b.test.ts", name: "y", seconds: 1 },
  ];
  expect([...judged(mutants, ids, lines as never, "/s").values()]).toEqual([
    { status: "killed", covering: [x, y] },
    { status: "timed out", covering: [x] },
    { status: "open", covering: [y] },
  ]);
});
