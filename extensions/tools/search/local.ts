import MiniSearch from "minisearch";
import { type Document, readCorpus } from "./corpus.ts";
import type { SearchProvider, SearchResult } from "./provider.ts";

/** Characters of a passage, as of the snippets in ARPO's protocol. */
const passageLength = 1000;

/** Finds documents at once. */
export interface DocumentIndex {
  /** The best results first, at most `count`; equally good ones by the first of the query's words that they have, then in the order of the documents. */
  search(query: string, count: number): readonly SearchResult[];
}

/**
 * A full-text index in memory (minisearch's BM25+ over passages, titles count double). A result is the best passage of a document.
 * Words are letters, numbers and their marks without a gap, so that languages without spaces are not found by their words.
 */
export function indexOf(documents: readonly Document[]): DocumentIndex {
  const index = new MiniSearch<{ id: number; title: string; text: string }>({
    fields: ["title", "text"],
    tokenize: (text) => text.normalize("NFKC").split(/[^\p{L}\p{M}\p{N}]+/u),
    searchOptions: { boost: { title: 2 } },
  });
  const passages = documents.flatMap((document) => passagesOf(document.text).map((text) => ({ document, text })));
  index.addAll(passages.map(({ document, text }, id) => ({ id, text, title: document.title })));

  return {
    search: (query, count) => {
      const best = new Map<Document, string>();
      for (const { id } of index.search(query)) {
        const found = passages[id];
        if (found !== undefined && !best.has(found.document)) best.set(found.document, found.text);
        if (best.size === count) break;
      }
      return [...best].map(([{ title, url }, snippet]) => ({ title, url, snippet }));
    },
  };
}

/**
 * The same as a provider.
 * @example
 * const search = localSearch([{ title: "Etna", text: "Etna is 3,357 m high.", url: "" }]);
 * await search.search("height of Etna", { count: 3 });
 */
export function localSearch(documents: readonly Document[]): SearchProvider {
  const index = indexOf(documents);
  return {
    name: "local",
    replayable: true,
    search: async (query, { count, signal }) => {
      signal?.throwIfAborted();
      return index.search(query, count);
    },
  };
}

/**
 * An index over what `readCorpus` reads.
 * @throws ToolError
 * @example
 * const tools = [searchTool(await readLocalSearch("wikipedia/"))];
 */
export async function readLocalSearch(path: string): Promise<SearchProvider> {
  return localSearch(await readCorpus(path));
}

/** Whole paragraphs as long as they fit; of a longer one, whole words. No surrogate pair is cut. */
export function passagesOf(text: string): string[] {
  const passages: string[] = [];
  let passage = "";
  const add = (piece: string, separator: string) => {
    if (passage !== "" && passage.length + separator.length + piece.length > passageLength) {
      passages.push(passage);
      passage = "";
    }
    passage = passage === "" ? piece : passage + separator + piece;
  };
  for (const paragraph of text.split(/\n\s*\n/)) {
    const trimmed = paragraph.trim();
    if (trimmed === "") continue;
    if (trimmed.length <= passageLength) add(trimmed, "\n\n");
    else for (const word of trimmed.match(new RegExp(`\\S{1,${passageLength}}(?![\\uDC00-\\uDFFF])`, "g")) ?? []) add(word, " ");
  }
  return passage === "" ? passages : [...passages, passage];
}
