import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Readable, Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { z } from "zod";
import { signalWithin } from "../../../src/core/deadline.ts";
import { reasonOf, ToolError } from "../../../src/core/errors.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import { longestTimer } from "../../../src/core/timer.ts";
import { cut } from "../../../src/tools/cut.ts";
import { defineTool, type Tool } from "../../../src/tools/tool.ts";
import { checkedLookup, checkHost, type Resolve, resolveByDns } from "./addresses.ts";
import { textOf } from "./page.ts";

const fetchSettings = z.strictObject({
  /** For all of it: redirects, the look-up of names, reading. */
  timeoutMs: z.number().positive().max(longestTimer).default(20_000),
  /** Characters of the text, as of ARPO's page reader. */
  maxText: z.int().min(1).default(20_000),
  /** The limit of the page's size, unpacked. What is beyond is not read. */
  maxBytes: z
    .int()
    .min(1)
    .default(4 * 2 ** 20),
  maxRedirects: z.int().min(0).default(5),
  /** Lets this machine's own servers be read: for tests, and for a mirror that runs here. */
  allowLoopback: z.boolean().default(false),
});
export type FetchSettings = z.input<typeof fetchSettings>;

/** Reads a page as text. @throws ToolError with a reason that a model can read */
export type ReadPage = (url: string, signal?: AbortSignal) => Promise<string>;

/**
 * Returns a reader of pages as text, which reaches public addresses alone.
 * @throws ConfigError
 * @example
 * const read = createPageReader({ maxText: 5000 });
 * const text = await read("https://example.com");
 */
export function createPageReader(settings: FetchSettings = {}, resolve: Resolve = resolveByDns): ReadPage {
  const limits = parseSettings(fetchSettings, settings, "fetch");
  return async (url, signal) => {
    signal?.throwIfAborted();
    const limit = signalWithin(limits.timeoutMs, signal);
    try {
      const { bytes, contentType, complete } = await follow(url, limits, resolve, limit.signal);
      const text = await textOf({ bytes, contentType }, limit.signal);
      const notice = complete ? "" : `\n[cut: the page has more than ${limits.maxBytes} bytes]`;
      return cut(text, limits.maxText) + notice;
    } catch (error) {
      signal?.throwIfAborted();
      if (limit.isLate()) throw new ToolError("fetch", url, { expected: `a page that comes within ${limits.timeoutMs} ms` });
      if (error instanceof ToolError) throw error;
      throw new ToolError("fetch", url, { expected: "a page that can be read", hint: reasonOf(error) });
    }
  };
}

/**
 * The tool: it takes an address and gives the text of its page.
 * @throws ConfigError
 * @example
 * const tools = [fetchTool({ timeoutMs: 10_000 })];
 */
export function fetchTool(settings: FetchSettings = {}): Tool {
  const { timeoutMs } = parseSettings(fetchSettings, settings, "fetch");
  const read = createPageReader(settings);
  return defineTool({
    name: "fetch",
    description: "Reads a web page as text.",
    parameters: z.object({ url: z.string() }),
    // So that the reader's own message is the one that is read.
    timeoutMs: timeoutMs + 1000,
    // It is cut by the reader.
    maxOutput: Number.POSITIVE_INFINITY,
    idempotent: true,
    execute: ({ url }, { signal }) => read(url, signal),
  });
}

interface Read {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** False where the page was longer than the limit. */
  readonly complete: boolean;
}

type Limits = z.output<typeof fetchSettings>;

async function follow(start: string, limits: Limits, resolve: Resolve, signal: AbortSignal): Promise<Read> {
  let url = parseUrl(start);
  for (let redirects = 0; redirects <= limits.maxRedirects; redirects++) {
    checkHost(url.hostname, limits.allowLoopback);
    const response = await get(url, limits, resolve, signal);
    const { statusCode = 0, headers } = response;
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      response.destroy();
      url = parseUrl(headers.location, url);
      continue;
    }
    if (statusCode < 200 || statusCode > 299) {
      response.destroy();
      throw new ToolError("fetch", url.href, { expected: "a page", hint: `The server answered ${statusCode}.` });
    }
    return { ...(await readBody(response, limits.maxBytes, signal)), contentType: headers["content-type"] ?? "" };
  }
  throw new ToolError("fetch", start, { expected: `at most ${limits.maxRedirects} redirects` });
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new ToolError("fetch", text, { expected: "an address that begins with http:// or https://" });
}

function get(url: URL, { allowLoopback }: Limits, resolve: Resolve, signal: AbortSignal): Promise<IncomingMessage> {
  const headers = {
    "user-agent": "retrograde-rl",
    accept: "text/html, text/*;q=0.9, */*;q=0.5",
    "accept-encoding": "gzip, deflate, br",
  };
  const { protocol, hostname, port, pathname, search } = url;
  return new Promise((resolveResponse, reject) => {
    const send = protocol === "https:" ? httpsRequest : httpRequest;
    const request = send({
      protocol,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      path: pathname + search,
      headers,
      signal,
      // No connection is shared: each goes to the address that was checked for it.
      agent: false,
      lookup: checkedLookup(resolve, allowLoopback),
    });
    request.on("response", resolveResponse);
    request.on("error", reject);
    request.end();
  });
}

/** Stops at the limit, before or after unpacking: a small file may unpack to a huge one. */
async function readBody(response: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Omit<Read, "contentType">> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body = unpacked(response);
  const stop = () => body.destroy(signal.reason);
  signal.addEventListener("abort", stop);
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) break;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    response.destroy();
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), complete: size <= maxBytes };
}

const unpackers: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

function unpacked(response: IncomingMessage): Readable {
  const encoding = response.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return response;
  const unpack = unpackers.get(encoding)?.();
  if (unpack === undefined) throw new ToolError("fetch", encoding, { expected: "a page packed with gzip, deflate or br" });
  response.on("error", (error) => unpack.destroy(error));
  return response.pipe(unpack);
}
