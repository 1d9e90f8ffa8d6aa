import { expect, test, vi } from "vitest";
import { longestTimer } from "../../src/core/timer.ts";
import { createPageReader } from "./fetch/fetch.ts";
import { mcpSettings } from "./mcp/settings.ts";
import { pythonSettings } from "./python/python.ts";
import { localSearch } from "./search/local.ts";
import { searchTool } from "./search/search.ts";

test("Python's settings if nothing is said; the variable of the environment allows it without walls", () => {
  const defaults = { interpreters: 2, timeoutMs: 10_000, memoryMb: 256, maxOutput: 10_000, stderr: true, allowUnwalled: false };
  for (const [value, allowUnwalled] of [
    [undefined, false],
    ["", false],
    ["true", false],
    ["1", true],
  ] as const) {
    vi.stubEnv("RETROGRADE_ALLOW_UNWALLED_PYTHON", value);
    expect(pythonSettings.parse({})).toEqual({ ...defaults, allowUnwalled });
  }
  vi.unstubAllEnvs();
});

test.each<[string, readonly unknown[], readonly unknown[]]>([
  ["interpreters", [1], [0, 1.5]],
  ["timeoutMs", [0.5, longestTimer], [0, longestTimer + 1]],
  ["memoryMb", [64, 4096], [63, 4097]],
  ["maxOutput", [1], [0, 1.5]],
  ["stderr", [false], ["no"]],
  ["allowUnwalled", [true], ["yes"]],
  ["packages", [], [["numpy"]]],
])("Python's %s may be %j and not %j", (name, allowed, refused) => {
  const parse = (value: unknown) => pythonSettings.safeParse({ [name]: value }).success;
  expect([allowed.map(parse), refused.map(parse)]).toEqual([allowed.map(() => true), refused.map(() => false)]);
});

test.each<[string, readonly unknown[], readonly unknown[]]>([
  ["timeoutMs", [0.5, longestTimer], [0, longestTimer + 1]],
  ["maxText", [1], [0, 1.5]],
  ["maxBytes", [1], [0, 1.5]],
  ["maxRedirects", [0], [-1, 1.5]],
  ["allowLoopback", [true], ["yes"]],
  ["userAgent", [], ["a"]],
])("a page reader's %s may be %j and not %j", (name, allowed, refused) => {
  const open = (value: unknown) => () => createPageReader({ [name]: value });
  for (const value of allowed) expect(open(value)).not.toThrow();
  for (const value of refused) expect(open(value)).toThrow(`fetch.${name}`);
});

test("MCP's settings if nothing is said, and their bounds", () => {
  expect(mcpSettings.parse({})).toEqual({ timeoutMs: 30_000, startMs: 60_000 });
  const parse = (settings: object) => mcpSettings.safeParse(settings).success;
  for (const name of ["timeoutMs", "startMs"])
    expect([0.5, longestTimer, 0, longestTimer + 1].map((value) => parse({ [name]: value }))).toEqual([true, true, false, false]);
  expect([parse({ name: "a" }), parse({ name: 1 }), parse({ retries: 1 })]).toEqual([true, false, false]);
});

test("a search is a tool with its provider's word on repeats, and ten results of a thousand characters", async () => {
  const documents = Array.from({ length: 11 }, (_, i) => ({
    title: "",
    url: "",
    text: `word ${"x".repeat(i === 0 ? 1200 : 1)} ${i}`,
  }));
  const tool = searchTool(localSearch(documents));
  expect(tool).toMatchObject({
    ...{ name: "search", description: "Searches for documents and returns excerpts of the best ones." },
    ...{ timeoutMs: 60_000, maxOutput: Number.POSITIVE_INFINITY, idempotent: true, replayable: true },
  });
  const shown = String(await tool.execute({ query: "word" }, { signal: new AbortController().signal }));
  expect(shown.match(/^Page \d+: /gm)).toHaveLength(10);
  expect(searchTool({ name: "other", search: async () => [] }, { timeoutMs: 5 })).toMatchObject({
    ...{ timeoutMs: 5, replayable: undefined },
  });
  expect(() => searchTool(localSearch([]), { depth: 1 } as never)).toThrow("searchTool: depth");
});
