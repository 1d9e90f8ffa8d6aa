import "../../../test/loopback.ts";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SearchProvider } from "../../../extensions/tools/search/provider.ts";
import { ConfigError, ToolError } from "../../../src/core/errors.ts";
import { searxngSearch, serperSearch } from "./web.ts";

const key = "sk-very/secret+key";
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** Serves one handler after the other, the last one again and again. */
async function serve(...handlers: readonly Handler[]) {
  const requests: { url: string; method: string; headers: IncomingMessage["headers"]; body: string; at: number }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const { url = "", method = "", headers } = request;
      requests.push({ url, method, headers, body, at: performance.now() });
      handlers[Math.min(requests.length, handlers.length) - 1](request, response, body);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const json =
  (value: unknown): Handler =>
  (_, response) =>
    response.end(JSON.stringify(value));
const fail =
  (status: number, headers: Record<string, string> = {}, body = "no"): Handler =>
  (_, response) =>
    response.writeHead(status, headers).end(body);
const fast = { retryDelayMs: 1, requestsPerSecond: 1000 };
const good = json({ searchParameters: {}, organic: [{ title: "T", link: "http://t", snippet: "C" }, { title: "2" }] });
const searxngs = json({ results: [{ title: "T", url: "http://t", content: "C" }] });
const result = { title: "T", url: "http://t", snippet: "C" };

async function problemOf(provider: SearchProvider): Promise<ToolError> {
  const error = await provider.search("q", { count: 3 }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ToolError)) throw new Error("expected a ToolError", { cause: error });
  return error;
}

describe("each service is asked in its own way", () => {
  test("serper", async () => {
    const { url, requests } = await serve(good);
    expect(await serperSearch({ ...fast, key, url }).search("q", { count: 1 })).toEqual([result]);
    expect(requests[0]).toMatchObject({ method: "POST", body: '{"q":"q","num":1}', headers: { "x-api-key": key } });
  });

  test("searxng", async () => {
    const { url, requests } = await serve(searxngs);
    expect(await searxngSearch({ ...fast, url: `${url}/` }).search("q", { count: 1 })).toEqual([result]);
    expect(requests[0].url).toBe("/search?q=q&format=json");
  });
});

describe("a service that does not answer well", () => {
  test("is asked again after 429, 500 and a broken connection", async () => {
    const broken: Handler = (request) => request.socket.destroy();
    const { url, requests } = await serve(fail(429), fail(500), broken, good);
    expect(await serperSearch({ ...fast, key, url }).search("q", { count: 1 })).toEqual([result]);
    expect(requests).toHaveLength(4);
  });

  test("is given up after its retries, with what it said", async () => {
    const { url, requests } = await serve(fail(503));
    const error = await problemOf(serperSearch({ ...fast, key, url, retries: 2 }));
    expect(error.message).toMatch(/^serper is "answering 503 Service Unavailable"; expected results/);
    expect(requests).toHaveLength(3);
  });

  test("is not asked again where it refuses", async () => {
    const { url, requests } = await serve(fail(401, {}, `bad key ${key}`));
    const error = await problemOf(serperSearch({ ...fast, key, url }));
    expect(error.message).toMatch(/answering 401 Unauthorized.*bad key \[key\]/);
    expect(requests).toHaveLength(1);
  });

  test("is left alone for as long as it asks", async () => {
    const { url, requests } = await serve(fail(429, { "retry-after": "1" }), good);
    const serper = serperSearch({ ...fast, key, url });
    await serper.search("q", { count: 2 });
    expect(requests[1].at - requests[0].at).toBeGreaterThan(900);
    const { url: slow, requests: asked } = await serve(fail(429, { "retry-after": "3600" }));
    expect((await problemOf(serperSearch({ ...fast, key, url: slow }))).message).toMatch(/429/);
    expect(asked).toHaveLength(1);
    const { url: dated } = await serve(fail(503, { "retry-after": new Date(Date.now() - 5000).toUTCString() }), good);
    expect(await serperSearch({ ...fast, key, url: dated }).search("q", { count: 1 })).toEqual([result]);
  });

  test("may answer nonsense", async () => {
    const html: Handler = (_, response) => response.end("<html>Sorry</html>");
    const { url } = await serve(html);
    expect((await problemOf(serperSearch({ ...fast, key, url }))).message).toMatch(/answering .*<html>Sorry.*expected JSON/);
    const { url: other } = await serve(json({ searchParameters: {}, organic: "none" }), json([1]), json(null));
    const serper = serperSearch({ ...fast, key, url: other });
    for (let i = 0; i < 3; i++) expect((await problemOf(serper)).message).toMatch(/expected search results/);
    const { url: endless } = await serve((_, response) => response.end(Buffer.alloc(6 * 2 ** 20, "x")));
    expect((await problemOf(serperSearch({ ...fast, key, url: endless }))).message).toMatch(/expected at most 5242880 bytes/);
  });

  test("may hang, before or in its answer, and may be unreachable", async () => {
    const { url, requests } = await serve(() => {});
    const short = { ...fast, key, timeoutMs: 400, retries: 1 };
    expect((await problemOf(serperSearch({ ...short, url }))).message).toMatch(/expected an answer within 400 ms/);
    expect(requests).toHaveLength(2);
    const { url: halfway } = await serve((_, response) => void response.write('{"results"'));
    expect((await problemOf(serperSearch({ ...short, url: halfway }))).message).toMatch(/within 400 ms/);
    expect((await problemOf(serperSearch({ ...fast, key, url: "http://127.0.0.1:1" }))).message).toMatch(/out of reach|bad port/);
    const { url: away } = await serve(fail(302, { location: "http://127.0.0.1:1/" }));
    expect((await problemOf(serperSearch({ ...fast, key, url: away }))).message).toMatch(/redirect/);
  });

  test("ends at once where the call is cancelled", async () => {
    const { url } = await serve(() => {});
    const controller = new AbortController();
    const pending = serperSearch({ ...fast, key, url }).search("q", { count: 1, signal: controller.signal });
    setTimeout(() => controller.abort(new Error("cancelled")), 20);
    await expect(pending).rejects.toThrow("cancelled");
  });
});

test("requests keep their distance", async () => {
  const { url } = await serve(good);
  const serper = serperSearch({ key, url, requestsPerSecond: 10 });
  // From before the first is sent: on a busy machine it may be late.
  const began = performance.now();
  const sent: number[] = [];
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (...asked: Parameters<typeof fetch>) => {
    sent.push(performance.now());
    return fetch(...asked);
  });
  await Promise.all(["a", "b", "c"].map((query) => serper.search(query, { count: 1 })));
  vi.unstubAllGlobals();
  expect(sent).toHaveLength(3);
  expect(sent[2] - began).toBeGreaterThan(190);
});

test("a name and password in the address of an instance are sent in a header, and are in no message", async () => {
  const { url, requests } = await serve(searxngs, fail(403, {}, "no, hidden/word"));
  const searxng = searxngSearch({ ...fast, url: url.replace("//", "//ann:hidden%2Fword@") });
  expect(await searxng.search("q", { count: 1 })).toEqual([result]);
  expect(requests[0].headers.authorization).toBe(`Basic ${Buffer.from("ann:hidden/word").toString("base64")}`);
  expect((await problemOf(searxng)).message).toMatch(/answering 403.*no, \[key\]/);
  const gone = searxngSearch({ ...fast, retries: 0, url: "http://ann:hidden@127.0.0.1:1" });
  expect(inspect(await problemOf(gone), { depth: 9, showHidden: true })).not.toContain("hidden");
});

test("an answer that breaks off, or drips, is an error in words", async () => {
  const { url } = await serve((_, response) => response.end('{"results":[{"title":"T'));
  expect((await problemOf(serperSearch({ ...fast, key, url }))).message).toMatch(/answering .*expected JSON/);
  const { url: dripping } = await serve((_, response) => {
    const drip = setInterval(() => response.write(" "), 10);
    response.on("close", () => clearInterval(drip));
  });
  expect((await problemOf(serperSearch({ ...fast, key, url: dripping, timeoutMs: 100, retries: 0 }))).message).toMatch(
    /expected an answer within 100 ms/,
  );
  const { url: bomb } = await serve((_, response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(50 * 2 ** 20, " "))),
  );
  expect((await problemOf(serperSearch({ ...fast, key, url: bomb }))).message).toMatch(/expected at most 5242880 bytes/);
});

test("a key is in no message, whatever a service answers", async () => {
  const echo: Handler = (request, response, body) =>
    response.writeHead(400).end(`${JSON.stringify(request.headers)} ${encodeURIComponent(key)} ${body}`);
  const nonsense: Handler = (_, response) => response.end(`<p>${key}</p>`);
  for (const handler of [echo, nonsense]) {
    const { url } = await serve(handler);
    const provider = serperSearch({ ...fast, key, url });
    const error = await problemOf(provider);
    const shown = [
      error.message,
      error.stack,
      inspect(error, { depth: 9, showHidden: true }),
      inspect(provider),
      JSON.stringify(error),
    ];
    expect(shown.join("\n")).not.toContain("secret");
  }
  try {
    serperSearch({ key: `${key}\n` });
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect(inspect(error)).not.toContain("secret");
  }
  expect(() => serperSearch({ key: "" })).toThrow(/serper.key is ""/);
});
