import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { localSearch } from "../../../extensions/tools/search/local.ts";
import type { SearchProvider, SearchResult } from "../../../extensions/tools/search/provider.ts";
import { ToolError } from "../../../src/core/errors.ts";
import { cachedSearch } from "./cached.ts";
import { readRecordedSearch, recordedSearch } from "./recorded.ts";

const folder = () => mkdtempSync(join(tmpdir(), "retrograde-search-"));
const many = { count: 10 };
const corpus = [{ title: "Rivers", text: "The Elbe is a river.", url: "" }];

const records = {
  plain: "Page 1: first\nPage 2: second\nwith a line\nPage 9: in it\nPage 3: third",
  "search query: who?": "Page 1: him",
  nothing: "No search results found.",
};

test("recorded searches are found by their exact words", async () => {
  const recorded = recordedSearch(records);
  const snippets = async (query: string, count = 10) => (await recorded.search(query, { count })).map(({ snippet }) => snippet);
  expect(await snippets("plain")).toEqual(["first", "second\nwith a line\nPage 9: in it", "third"]);
  expect(await snippets('pl"ain"', 1)).toEqual(["first"]);
  expect(await snippets("who?")).toEqual(["him"]);
  expect(await snippets("search query: who?")).toEqual(["him"]);
  expect(await snippets("nothing")).toEqual([]);
  expect(await snippets("Plain")).toEqual([]);
  expect(await snippets("constructor")).toEqual([]);
  const fallback = recordedSearch(records, { fallback: localSearch(corpus) });
  expect((await fallback.search("Elbe", many))[0].title).toBe("Rivers");
});

test("recorded searches are read from a file, gzipped or not", async () => {
  const path = join(folder(), "cache.json");
  writeFileSync(path, JSON.stringify(records));
  writeFileSync(`${path}.gz`, gzipSync(JSON.stringify(records)));
  for (const file of [path, `${path}.gz`]) {
    expect(await (await readRecordedSearch(file)).search("who?", many)).toEqual([{ title: "", url: "", snippet: "him" }]);
  }
  writeFileSync(path, "[1]");
  await expect(readRecordedSearch(path)).rejects.toThrow(/expected a JSON object/);
  await expect(readRecordedSearch(`${path}.none`)).rejects.toThrow(ToolError);
});

/** Counts its calls; the first of them fail. */
function counting(failures = 0): SearchProvider & { queries: string[] } {
  const queries: string[] = [];
  return {
    name: "counting",
    queries,
    search: async (query, { count }) => {
      queries.push(query);
      if (queries.length <= failures) throw new ToolError("counting", "down");
      return [{ title: "", url: "", snippet: `${query} ${count}` }];
    },
  };
}

test("a cached provider is asked once for a query and a count, and again after a failure", async () => {
  const inner = counting(1);
  const cached = cachedSearch(inner, { entries: 2 });
  await expect(cached.search("a", many)).rejects.toThrow(ToolError);
  for (const query of ["a", "a", "b", "a", "c", "a", "b"]) await cached.search(query, many);
  expect(inner.queries).toEqual(["a", "a", "b", "c", "b"]);
  expect((await cached.search("b", { count: 3 }))[0].snippet).toBe("b 3");
});

test("a folder keeps answers for other processes, and a broken file is asked for again", async () => {
  const at = join(folder(), "cache");
  const first = counting();
  const answer = await cachedSearch(first, { folder: at }).search("é/../x", many);
  const second = counting();
  expect(await cachedSearch(second, { folder: at }).search("é/../x", many)).toEqual(answer);
  expect(second.queries).toEqual([]);
  const [file] = readdirSync(at);
  writeFileSync(join(at, file), readFileSync(join(at, file), "utf8").slice(0, 20));
  expect(await cachedSearch(second, { folder: at }).search("é/../x", many)).toEqual(answer);
  expect(second.queries).toEqual(["é/../x"]);
  expect(readdirSync(at)).toHaveLength(1);
});

test("a query that is being asked is not asked again: who asks too waits for the answer, and asks where it failed", async () => {
  const asked: ((results: SearchResult[] | Error) => void)[] = [];
  const slow: SearchProvider = {
    name: "slow",
    search: () =>
      new Promise((resolve, reject) => asked.push((results) => (results instanceof Error ? reject(results) : resolve(results)))),
  };
  const cached = cachedSearch(slow);
  const found = [{ title: "", url: "", snippet: "x" }];
  const both = [cached.search("q", many), cached.search("q", many), cached.search("q", { count: 1 })];
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toHaveLength(2);
  for (const answer of asked) answer(found);
  expect(await Promise.all(both)).toEqual([found, found, found]);
  const failing = cached.search("other", many);
  const waiting = cached.search("other", many);
  await new Promise((resolve) => setImmediate(resolve));
  asked[2](new Error("429"));
  await expect(failing).rejects.toThrow("429");
  await new Promise((resolve) => setImmediate(resolve));
  asked[3](found);
  expect(await waiting).toEqual(found);
  expect(asked).toHaveLength(4);
});
