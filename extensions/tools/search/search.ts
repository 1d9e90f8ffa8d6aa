import { z } from "zod";
import { optionsDoor } from "../../../src/core/door.ts";
import { cut } from "../../../src/tools/cut.ts";
import { defineTool, type Tool } from "../../../src/tools/tool.ts";
import type { SearchProvider, SearchResult } from "./provider.ts";

export interface SearchToolOptions {
  /** Results that a call shows; 10 in ARPO's protocol. */
  readonly count?: number;
  /** Characters of a result; 1000 in ARPO's protocol. */
  readonly maxSnippet?: number;
  readonly timeoutMs?: number;
}

const checkOptions = optionsDoor<SearchToolOptions>("searchTool", { count: true, maxSnippet: true, timeoutMs: true });

/**
 * A search as a tool. Its retries and pauses count into its time limit.
 * @throws ConfigError for an invalid option
 * @example
 * const tools = [searchTool(await readLocalSearch("wikipedia/"), { count: 5 })];
 */
export function searchTool(provider: SearchProvider, options: SearchToolOptions = {}): Tool {
  checkOptions({ ...options });
  const { count = 10, maxSnippet = 1000, timeoutMs = 60_000 } = options;
  return defineTool({
    name: "search",
    description: "Searches for documents and returns excerpts of the best ones.",
    parameters: z.object({ query: z.string().min(1) }),
    timeoutMs,
    maxOutput: Number.POSITIVE_INFINITY,
    idempotent: true,
    replayable: provider.replayable,
    execute: async ({ query }, { signal }) => asText(await provider.search(query, { count, signal }), maxSnippet),
  });
}

/** A line `Page i: …` each, as in ARPO's protocol, with title and address where there are any. */
function asText(results: readonly SearchResult[], maxSnippet: number): string {
  if (results.length === 0) return "No search results found.";
  return results
    .map(({ title, url, snippet }, index) => {
      const source = [title, url === "" ? "" : `(${url})`].filter((part) => part !== "").join(" ");
      return `Page ${index + 1}: ${source === "" ? "" : `${source}\n`}${cut(snippet, maxSnippet)}`;
    })
    .join("\n");
}
