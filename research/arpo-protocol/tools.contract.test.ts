import { afterAll, expect, test } from "vitest";
import type { SearchProvider, SearchResult } from "../../extensions/tools/search/provider.ts";
import { deepResearchSettingsSchema } from "../benchmarks/settings.ts";
import { recordedSearch } from "../benchmarks/web/recorded.ts";
import { researchTools } from "./tools.ts";

const settings = deepResearchSettingsSchema.parse({ data: {} });
const never = new AbortController();
afterAll(() => never.abort());

function toolsOver(provider: SearchProvider) {
  const tools = researchTools(provider, settings);
  const call =
    (name: string) =>
    async (args: Record<string, string>, signal: AbortSignal = never.signal) =>
      tools.find((tool) => tool.name === name)?.execute(args, { signal });
  return { search: call("search"), python: call("python") };
}

test("Python's limits are the settings'", async () => {
  const strict = { ...settings, python: { interpreters: 1, timeoutMs: 500, memoryMb: 64 } };
  const python = researchTools(recordedSearch({}), strict).find(({ name }) => name === "python");
  const run = (code: string) => python?.execute({ code }, { signal: never.signal });
  expect(await run("while True: pass")).toMatch(/stopped after 0.5 s/);
  expect(await run("len(bytearray(90 * 2**20))")).toMatch(/MemoryError|more than 64 MB/);
});

const results = (...snippets: string[]): SearchResult[] => snippets.map((snippet) => ({ title: "t", url: "u", snippet }));

test("a search shows ten distinct snippets of at most 1000 characters, by a query without double quotes", async () => {
  const queries: string[] = [];
  const { search } = toolsOver({
    name: "test",
    search: async (query, { count }) => {
      queries.push(`${query} ${count}`);
      return results("same", "same", "x".repeat(1200), `${"x".repeat(1000)}y`, ...Array.from({ length: 20 }, (_, i) => `${i}`));
    },
  });
  const lines = String(await search({ query: 'the "owl"' })).split("\n");
  expect(lines).toEqual([
    "Page 1: same",
    `Page 2: ${"x".repeat(1000)}`,
    ...Array.from({ length: 8 }, (_, i) => `Page ${i + 3}: ${i}`),
  ]);
  expect(queries).toEqual(["the owl 10"]);
});

test("characters are counted whole", async () => {
  const { search } = toolsOver({ name: "test", search: async () => results("🦉".repeat(1001)) });
  expect(await search({ query: "q" })).toBe(`Page 1: ${"🦉".repeat(1000)}`);
});

test("a search that finds nothing says so; one that fails is tried three times, then that is said", async () => {
  let tried = 0;
  const failing = (failures: number): SearchProvider => ({
    name: "failing",
    search: () => (tried++ < failures ? Promise.reject(new Error("429")) : Promise.resolve(results("found"))),
  });
  expect(await toolsOver(recordedSearch({})).search({ query: "q" })).toBe("No search results found.");
  expect(await toolsOver(failing(2)).search({ query: "q" })).toBe("Page 1: found");
  tried = 0;
  expect(await toolsOver(failing(9)).search({ query: "q" })).toBe("Tool(search) returned empty output.");
  expect(tried).toBe(3);
  const gone = AbortSignal.abort(new Error("cancelled"));
  await expect(toolsOver(failing(9)).search({ query: "q" }, gone)).rejects.toThrow("cancelled");
});

test.each([
  ["1 + 1", "2"],
  ["print('a')\n'b'", "a\nb"],
  ["import sys, warnings\nwarnings.warn('old')\nprint('seen', file=sys.stderr)\n1", "1"],
  ["x = [1]\nx.append(2)", "None"],
  ["1, 2", "(1, 2)"],
  ["(1 +\n 2)  # three", "3"],
  ["s = 'ä🙂'; len(s) # é", "2"],
  ["print('only this')", "only this"],
  ["print(1); print(2)", "1\n2"],
  ["\r\nx = 2\r\nx * 2\r\n", "4"],
  ["  'indented'", /^IndentationError|unexpected indent/],
  ["x = 1", "Tool(python) returned empty output."],
  ["print('before')\n1 / 0", /ZeroDivisionError/],
  ["print('before'", /SyntaxError/],
  ["raise SystemExit(0)", "Tool(python) returned empty output."],
  ["import os; os.system('ls')", /Error/],
])("Python code as a script whose last expression is printed: %j", async (code, expected) => {
  const output = await python({ code });
  if (typeof expected === "string") expect(output).toBe(expected);
  else expect(output).toMatch(expected);
  expect(output).not.toContain("before\n");
});
const { python } = toolsOver(recordedSearch({}));

test("Python keeps nothing from call to call, and its errors tell the line of the model's own code", async () => {
  await python({ code: "x = 5\nx" });
  expect(await python({ code: "y = 1\nx + y" })).toMatch(/line 2.*NameError: name 'x' is not defined/s);
});
