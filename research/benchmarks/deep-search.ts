import { createPageReader } from "../../extensions/tools/fetch/fetch.ts";
import type { SearchResult } from "../../extensions/tools/search/provider.ts";
import { complete } from "../../src/completions/client.ts";
import { CompletionError } from "../../src/completions/errors.ts";
import { apiKeyFrom } from "../../src/core/api-key.ts";
import { normalisedWords, overlapF1 } from "../arpo-protocol/answer-text.ts";
import type { DeepResearchSettings } from "./settings.ts";

/** The least word F1 between a sentence of a page and the snippet that found it. */
const leastF1 = 0.2;

export interface DeepSearch {
  /** Returns the text that the model reads as the result of a search. */
  write(query: string, results: readonly SearchResult[], signal: AbortSignal): Promise<string>;
  /** @throws CompletionError if the summariser failed before: episodes without its summaries would be scored as if they had them */
  requireSummaries(): void;
}

/**
 * Opens the deep-search variant of ARPO's evaluation: pages of the results are read, the passage around the sentence nearest to the snippet is cut out of each,
 * and a second model condenses these to what helps the query.
 * @throws ConfigError if the summariser's key is not there
 */
export function openDeepSearch(
  { summariser, pages, around, allowLoopback }: NonNullable<DeepResearchSettings["deepSearch"]>,
  env: Readonly<Record<string, string | undefined>>,
): DeepSearch {
  const { baseUrl, model, keyEnv, temperature, maxTokens, request } = summariser;
  const apiKey = keyEnv === undefined ? undefined : apiKeyFrom(env, keyEnv, baseUrl);
  const read = createPageReader({ allowLoopback });
  const endpoint = { baseUrl, request, retries: 2, timeoutMs: 60_000, ...(apiKey ? { apiKey } : {}) };
  let failure: CompletionError | undefined;

  const passageOf = async ({ url, title, snippet }: SearchResult, signal: AbortSignal): Promise<string> => {
    // A page that cannot be read leaves its snippet.
    const text = /^https?:\/\//.test(url) ? await read(url, signal).catch(() => "") : "";
    signal.throwIfAborted();
    return [title, text === "" ? snippet : passageAround(text, snippet, around)].filter((part) => part !== "").join("\n");
  };

  return {
    async write(query, results, signal) {
      if (results.length === 0) return "No search results found.";
      const passages = await Promise.all(results.slice(0, pages).map((result) => passageOf(result, signal)));
      const messages = [{ role: "user", content: summaryPrompt(query, passages) }];
      try {
        const { content, finish } = await complete(endpoint, { model, messages, temperature, max_tokens: maxTokens }, signal);
        const summary = (content.split("</think>").at(-1) ?? "").trim();
        if (summary !== "" && !summary.startsWith("<think>")) return summary;
        throw new CompletionError(`the summary of ${model}`, summary.slice(0, 100), "refused", {
          expected: "text behind its thoughts",
          hint: `It ended with "${finish}". summariser.maxTokens is ${maxTokens}, thoughts included.`,
        });
      } catch (error) {
        // A filter refuses one page, as a page may be out of reach.
        if (error instanceof CompletionError && error.failure !== "withheld") failure ??= error;
        throw error;
      }
    },
    requireSummaries() {
      if (failure !== undefined) throw failure;
    },
  };
}

/** The characters around the sentence that shares most words with a snippet; the beginning of a page where no sentence is near to it. */
export function passageAround(text: string, snippet: string, around: number): string {
  const wanted = normalisedWords(snippet);
  let best = { f1: 0, start: 0, end: 0 };
  for (const { 0: sentence, index } of text.matchAll(/[^.!?。！？\n]+[.!?。！？]*/gu)) {
    const f1 = overlapF1(normalisedWords(sentence), wanted);
    if (f1 > best.f1) best = { f1, start: index, end: index + sentence.length };
  }
  if (best.f1 < leastF1) return text.slice(0, 2 * around);
  return text.slice(Math.max(0, best.start - around), best.end + around);
}

/** The request to the second model, in our words. */
function summaryPrompt(query: string, passages: readonly string[]): string {
  return [
    "Condense these pages to what helps to answer a search query: facts, names, numbers and dates, as the pages have them. Add nothing of your own.",
    "If nothing helps, say so in one sentence.",
    "",
    `Query: ${query}`,
    ...passages.map((passage, i) => `\nPage ${i + 1}:\n${passage}`),
  ].join("\n");
}
