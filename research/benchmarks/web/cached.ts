import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { SearchProvider, SearchResult } from "../../../extensions/tools/search/provider.ts";

export interface CacheOptions {
  /** Keeps answers for other runs, a file each; without it they end with the process. */
  readonly folder?: string;
  /** Answers kept in memory; the least recently used one goes first. */
  readonly entries?: number;
}

const fileSchema = z.object({
  provider: z.string(),
  query: z.string(),
  count: z.number(),
  results: z.array(z.object({ title: z.string(), url: z.string(), snippet: z.string() })),
});

/**
 * Asks a provider once for each query and count, also where several ask at the same time. What failed is asked for again.
 * @example
 * const search = cachedSearch(serperSearch({ key: process.env.SERPER_API_KEY ?? "" }), { folder: "search-cache" });
 */
export function cachedSearch(provider: SearchProvider, { folder, entries = 10_000 }: CacheOptions = {}): SearchProvider {
  const memory = new Map<string, readonly SearchResult[]>();
  const asking = new Map<string, Promise<unknown>>();
  const keep = (key: string, results: readonly SearchResult[]) => {
    memory.delete(key);
    memory.set(key, results);
    const [oldest] = memory.keys();
    if (memory.size > entries && oldest !== undefined) memory.delete(oldest);
    return results;
  };
  return {
    name: provider.name,
    replayable: true,
    search: async (query, options) => {
      options.signal?.throwIfAborted();
      const entry = { provider: provider.name, query, count: options.count };
      const key = JSON.stringify(entry);
      const ask = async () => {
        const known = folder === undefined ? undefined : await readEntry(folder, key);
        if (known !== undefined) return keep(key, known);
        const results = await provider.search(query, options);
        if (folder !== undefined) await writeEntry(folder, key, { ...entry, results: [...results] });
        return keep(key, results);
      };
      for (let other = asking.get(key); other !== undefined; other = asking.get(key)) {
        // Its failure is its own; it may just have been cancelled.
        await other.catch(() => {});
        options.signal?.throwIfAborted();
      }
      const known = memory.get(key);
      if (known !== undefined) return keep(key, known);
      const answer = ask().finally(() => asking.delete(key));
      asking.set(key, answer);
      return answer;
    },
  };
}

function fileOf(folder: string, key: string): string {
  return join(folder, `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.json`);
}

/** Undefined if it is missing or broken. */
async function readEntry(folder: string, key: string): Promise<readonly SearchResult[] | undefined> {
  try {
    const { results, ...entry } = fileSchema.parse(JSON.parse(await readFile(fileOf(folder, key), "utf8")));
    return JSON.stringify(entry) === key ? results : undefined;
  } catch {
    return undefined;
  }
}

/** Whole or not at all: other processes read the folder too. */
async function writeEntry(folder: string, key: string, entry: z.infer<typeof fileSchema>): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = fileOf(folder, key);
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, `${JSON.stringify(entry)}\n`);
  await rename(temporary, file);
}
