import { z } from "zod";
import { withoutCredentials } from "../../../extensions/tools/credentials.ts";
import type { SearchProvider, SearchResult } from "../../../extensions/tools/search/provider.ts";
import { ConfigError, ToolError } from "../../../src/core/errors.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import { longestTimer } from "../../../src/core/timer.ts";
import { createSender } from "./request.ts";

const limits = {
  timeoutMs: z.number().positive().max(longestTimer).default(10_000),
  /** After the first attempt. */
  retries: z.int().min(0).default(3),
  retryDelayMs: z.number().min(0).max(longestTimer).default(500),
  requestsPerSecond: z.number().positive().default(5),
};
const serperSettings = z.strictObject({
  ...limits,
  key: z.string(),
  /** Another address than the service's own, for a proxy. */
  url: z.url().default("https://google.serper.dev/search"),
});
const searxngSettings = z.strictObject({
  ...limits,
  /** The address of the instance: there is no common one. Its settings must allow the format json. May hold `user:password@`. */
  url: z.url(),
});

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
const serperAnswer = z.object({
  searchParameters: z.looseObject({}),
  organic: z.array(z.object({ title: text, link: text, snippet: text })).default([]),
});
const searxngAnswer = z.object({ results: z.array(z.object({ title: text, url: text, content: text })) });

/**
 * Google's results by Serper (serper.dev).
 * @throws ConfigError
 * @example
 * const tools = [searchTool(serperSearch({ key: process.env.SERPER_API_KEY ?? "" }))];
 */
export function serperSearch(settings: z.input<typeof serperSettings>): SearchProvider {
  const checked = withKey(parseSettings(serperSettings, settings, "serper"), "serper");
  return provider("serper", checked, serperAnswer, {
    request: (query, count) => [new URL(checked.url), post({ q: query, num: count }, { "x-api-key": checked.key })],
    results: ({ organic }) => organic.map(({ title, link, snippet }) => ({ title, url: link, snippet })),
  });
}

/**
 * A SearXNG instance (docs.searxng.org).
 * @throws ConfigError
 * @example
 * const tools = [searchTool(searxngSearch({ url: "http://127.0.0.1:8888" }))];
 */
export function searxngSearch(settings: z.input<typeof searxngSettings>): SearchProvider {
  const checked = parseSettings(searxngSettings, settings, "searxng");
  const { url, headers, secrets } = withoutCredentials(checked.url);
  const address = url.href.replace(/\/+$/, "");
  return provider("searxng", { ...checked, secrets }, searxngAnswer, {
    request: (query) => [withQuery(`${address}/search`, { q: query, format: "json" }), { headers }],
    results: ({ results }) => results.map(({ title, url, content }) => ({ title, url, snippet: content })),
  });
}

interface Service<Answer> {
  request(query: string, count: number): readonly [URL, RequestInit];
  results(answer: Answer): readonly SearchResult[];
}

function provider<Schema extends z.ZodType>(
  name: string,
  settings: Parameters<typeof createSender>[2] & { readonly secrets: readonly string[] },
  schema: Schema,
  { request, results }: Service<z.output<Schema>>,
): SearchProvider {
  const send = createSender(name, settings.secrets, settings);
  return {
    name,
    search: async (query, { count, signal }) => {
      const [url, init] = request(query, count);
      const answer = schema.safeParse(await send(url, init, signal));
      if (!answer.success) throw new ToolError(name, "answering something else", { expected: "search results" });
      return results(answer.data).slice(0, count);
    },
  };
}

function withQuery(url: string, query: Readonly<Record<string, string>>): URL {
  const full = new URL(url);
  for (const [name, value] of Object.entries(query)) full.searchParams.set(name, value);
  return full;
}

function post(body: unknown, headers: Readonly<Record<string, string>>): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** The value is not shown: a key with a line break at its end is still a key. */
function withKey<T extends { readonly key: string }>(settings: T, name: string): T & { readonly secrets: readonly string[] } {
  if (/^[\x21-\x7e]+$/.test(settings.key)) return { ...settings, secrets: [settings.key] };
  throw new ConfigError(`${name}.key`, settings.key === "" ? "" : "[key]", { expected: "a key of visible ASCII characters" });
}
