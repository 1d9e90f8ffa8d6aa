import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { complete, type EndpointSettings } from "./client.ts";
import { CompletionError } from "./errors.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

type Answer = (response: ServerResponse, count: number, request: IncomingMessage) => void;

async function serving(answer: Answer): Promise<EndpointSettings & { readonly asked: () => number }> {
  let count = 0;
  server = createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(response, count++, request));
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { baseUrl: `http://127.0.0.1:${port}/v1/`, retryDelayMs: 1, retries: 2, asked: () => count };
}

const answered = JSON.stringify({ choices: [{ message: { content: "Hi." }, finish_reason: "stop" }] });
const failure = async (settings: EndpointSettings) => {
  const error = await complete(settings, { model: "m" }).catch((thrown: unknown) => thrown);
  if (!(error instanceof CompletionError)) throw error;
  return error;
};

test("what may pass is asked again: busy, broken, nonsense, a lost connection, the failure of a server behind a gateway", async () => {
  const settings = await serving((response, count) => {
    const tries: (() => void)[] = [
      () => response.writeHead(503).end(),
      () => response.end("<html>starting</html>"),
      () => response.end('{"error": {"message": "upstream", "code": 502}}'),
      () => response.end('{"choices": []}'),
      () => response.destroy(),
      () => response.end(answered),
    ];
    tries[count]();
  });
  expect(await complete({ ...settings, retries: 5 }, {})).toMatchObject({ content: "Hi.", usage: undefined });
  expect(settings.asked()).toBe(6);
});

test("a kept connection that the server closes is replaced once, without a retry of the settings", async () => {
  const used = new Set<unknown>();
  const settings = await serving((response, _, request) => {
    if (used.has(request.socket)) return void request.socket.destroy();
    used.add(request.socket);
    response.end(answered);
  });
  const once = { ...settings, retries: 0 };
  for (let i = 0; i < 3; i++) expect(await complete(once, {})).toMatchObject({ content: "Hi." });
  expect(used.size).toBe(3);
  // At least one of them was sent on a used connection first.
  expect(settings.asked()).toBeGreaterThan(3);
  server?.close();
  const closing = await serving((response) => response.destroy());
  expect(await failure({ ...closing, retries: 0 })).toMatchObject({ failure: "unreachable" });
  expect(closing.asked()).toBe(2);
});

test("a wait that the server asks for is taken, one of minutes is not", async () => {
  const settings = await serving((response, count) =>
    count === 0 ? response.writeHead(429, { "retry-after-ms": "120" }).end() : response.end(answered),
  );
  const started = performance.now();
  await complete(settings, {});
  expect(performance.now() - started).toBeGreaterThan(110);
  server?.close();
  const long = await serving((response) => response.writeHead(429, { "retry-after": "3600" }).end("later"));
  expect(await failure(long)).toMatchObject({ failure: "unreachable", value: "429 later" });
  expect(long.asked()).toBe(1);
});

test("an answer that is late, or whose body is, ends at the limit", async () => {
  const silent = await serving((response, count) => void (count === 0 && response.write('{"choices')));
  const started = performance.now();
  expect(await failure({ ...silent, timeoutMs: 60, retries: 1 })).toMatchObject({
    failure: "unreachable",
    message: expect.stringMatching(/nothing within 60 ms.*asked 2 times/),
  });
  expect(performance.now() - started).toBeLessThan(1000);
});

test("100 MB are not read", async () => {
  let sent = 0;
  const flood = await serving((response) => {
    const block = Buffer.alloc(2 ** 20, "x");
    const pour = () => {
      while (sent < 100 && !response.destroyed) {
        sent++;
        if (!response.write(block)) return void response.once("drain", pour);
      }
    };
    pour();
  });
  expect(await failure({ ...flood, maxBytes: 2 ** 21 })).toMatchObject({
    message: expect.stringMatching(/more than 2097152 bytes/),
  });
  expect(sent).toBeLessThan(40);
});

test.each([
  [401, "wrong key sk-secret", "settings", 1],
  [404, "no such model", "settings", 1],
  [429, '{"error": {"code": "insufficient_quota"}}', "settings", 1],
  [400, "max_tokens is not supported", "refused", 1],
  [400, "This model's maximum context length is 8192 tokens", "context", 1],
  [500, "broken", "unreachable", 3],
] as const)("status %i, %s: %s after %i requests, without the key", async (status, said, kind, times) => {
  const settings = await serving((response) => response.writeHead(status).end(said));
  const error = await failure({ ...settings, apiKey: "sk-secret" });
  expect(error).toMatchObject({ failure: kind, message: expect.stringContaining(String(status)) });
  expect(error.message).not.toContain("sk-secret");
  expect(settings.asked()).toBe(times);
});

test("a redirect is not followed: it would carry the key", async () => {
  const settings = await serving((response) => response.writeHead(301, { location: "http://elsewhere.example/" }).end());
  expect(await failure(settings)).toMatchObject({
    failure: "settings",
    message: expect.stringMatching(/301 to http:..elsewhere/),
  });
});

test("an interrupted wait ends at once", async () => {
  const settings = await serving((response) => response.writeHead(503).end());
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error("stopped")), 30);
  await expect(complete({ ...settings, retryDelayMs: 60_000 }, {}, stop.signal)).rejects.toThrow("stopped");
});
