import { z } from "zod";
import type { SearchProvider, SearchResult } from "../../../extensions/tools/search/provider.ts";
import { reasonOf, ToolError } from "../../../src/core/errors.ts";
import { gunzipBounded, readBounded, utf8Of } from "../../../src/files/bounded.ts";

/** JavaScript has no longer texts. */
const largestRecord = 512 * 2 ** 20;
const recordsSchema = z.record(z.string(), z.string());

export interface RecordedOptions {
  /** Asked where nothing is recorded; without it there are no results then. */
  readonly fallback?: SearchProvider;
}

/**
 * Recorded searches: an object from a query to the text of its results, a line `Page i: snippet` each, as ARPO's search cache.
 * A query is found by its exact words, after double quotes are removed from it, and also under `search query: ` + the query,
 * which is how most queries of that file begin.
 * @example
 * const search = recordedSearch({ "height of Etna": "Page 1: Etna is 3,357 m high." });
 */
export function recordedSearch(records: Readonly<Record<string, string>>, { fallback }: RecordedOptions = {}): SearchProvider {
  const byQuery = new Map(Object.entries(records));
  return {
    name: fallback === undefined ? "recorded" : `recorded+${fallback.name}`,
    replayable: fallback === undefined || fallback.replayable === true,
    search: async (query, options) => {
      options.signal?.throwIfAborted();
      const unquoted = query.replaceAll('"', "");
      const text = byQuery.get(unquoted) ?? byQuery.get(`search query: ${unquoted}`);
      if (text === undefined) return fallback === undefined ? [] : fallback.search(query, options);
      return pagesOf(text).slice(0, options.count);
    },
  };
}

/**
 * Reads recorded searches from a file.
 * @param path a JSON file, gzipped where it ends in .gz
 * @throws ToolError
 * @example
 * const search = await readRecordedSearch("searches.json.gz", { fallback: await readLocalSearch("wikipedia/") });
 */
export async function readRecordedSearch(path: string, options: RecordedOptions = {}): Promise<SearchProvider> {
  try {
    const bytes = readBounded(path, largestRecord);
    const text = utf8Of(path.endsWith(".gz") ? gunzipBounded(bytes) : bytes);
    return recordedSearch(recordsSchema.parse(JSON.parse(text)), options);
  } catch (cause) {
    throw new ToolError("recorded search", path, {
      expected: "a JSON object from queries to texts",
      hint: reasonOf(cause),
      cause,
    });
  }
}

/** The snippets of `Page 1: …`, `Page 2: …`; a snippet may have several lines. */
function pagesOf(text: string): SearchResult[] {
  const snippets: string[] = [];
  for (const line of text.split("\n")) {
    const opening = `Page ${snippets.length + 1}: `;
    if (line.startsWith(opening)) snippets.push(line.slice(opening.length));
    else if (snippets.length > 0) snippets[snippets.length - 1] += `\n${line}`;
  }
  return snippets.map((snippet) => ({ title: "", url: "", snippet }));
}
