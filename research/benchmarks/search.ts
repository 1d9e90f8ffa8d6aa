import { existsSync } from "node:fs";
import { readLocalSearch } from "../../extensions/tools/search/local.ts";
import type { SearchProvider } from "../../extensions/tools/search/provider.ts";
import { apiKeyFrom } from "../../src/core/api-key.ts";
import { ConfigError } from "../../src/core/errors.ts";
import type { DeepResearchSettings } from "./settings.ts";
import { cachedSearch } from "./web/cached.ts";
import { readRecordedSearch } from "./web/recorded.ts";
import { searxngSearch, serperSearch } from "./web/web.ts";

/**
 * Checks what is to be searched.
 * @returns what reads it, which may take its time
 * @throws ConfigError where there is no such file or key
 */
export function searchOf(
  { search, recorded, prompt }: Pick<DeepResearchSettings, "search" | "recorded" | "prompt">,
  env: Readonly<Record<string, string | undefined>>,
): () => Promise<SearchProvider> {
  if (search === undefined && recorded === undefined && (prompt === "math" || prompt === "base")) return async () => emptySearch;
  if (search === undefined && recorded === undefined) {
    throw new ConfigError("environment.settings.search", undefined, {
      expected: "what is searched",
      hint: 'Name a folder or file with { kind: "local", path }, a web service such as { kind: "serper" }, or a file of `recorded` searches; with prompt "math" the model is shown Python alone.',
    });
  }
  const fallback = search === undefined ? undefined : providerOf(search, env);
  if (recorded === undefined) return async () => (await fallback?.()) ?? emptySearch;
  requireFile("environment.settings.recorded", recorded, "a .json or .json.gz file of recorded searches");
  return async () => readRecordedSearch(recorded, { fallback: await fallback?.() });
}

const emptySearch: SearchProvider = { name: "nothing", replayable: true, search: async () => [] };

function providerOf(
  search: NonNullable<DeepResearchSettings["search"]>,
  env: Readonly<Record<string, string | undefined>>,
): () => Promise<SearchProvider> {
  if (search.kind === "local") {
    const { path } = search;
    requireFile("environment.settings.search.path", path, "a folder, a .jsonl or a .parquet file");
    return async () => titled(await readLocalSearch(path));
  }
  const { folder } = search;
  const kept = (provider: SearchProvider) => async () => cachedSearch(provider, { folder });
  if (search.kind === "searxng") return kept(searxngSearch({ url: search.url }));
  const key = apiKeyFrom(
    env,
    search.keyEnv,
    search.kind,
    "Set it, or name another variable in environment.settings.search.keyEnv.",
  );
  return kept(serperSearch({ key }));
}

/** Titles of a local corpus are often the only place in which a document's subject is named. */
function titled(provider: SearchProvider): SearchProvider {
  return {
    ...provider,
    search: async (query, options) =>
      (await provider.search(query, options)).map(({ title, url, snippet }) => ({
        title,
        url,
        snippet: title === "" || snippet.includes(title) ? snippet : `${title}\n${snippet}`,
      })),
  };
}

function requireFile(setting: string, path: string, expected: string): void {
  if (!existsSync(path)) throw new ConfigError(setting, path, { expected, hint: "There is no such file." });
}
