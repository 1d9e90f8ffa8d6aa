import "../../test/loopback.ts";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Episodes } from "./episodes.ts";
import { forward } from "./forward.ts";
import { startGateway } from "./gateway.ts";

/** A model's server that takes down what it is asked. */
let heard: { method?: string; url?: string; headers: IncomingHttpHeaders; body: string }[] = [];
let server: Server;
let at: string;
let gateway: Awaited<ReturnType<typeof startGateway>>;
const episodes = new Episodes();
const episode = episodes.begin("episode-key", "first question", { baseUrl: "", apiKey: "the model's key", name: "m" });
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method, url, headers } = request;
    heard.push({ method, url, headers, body: Buffer.concat(parts).toString() });
    if (url?.includes("silent")) return;
    response.writeHead(201, { "x-own": "kept", "content-type": "text/plain" }).end("said");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  Object.assign(episode.target, { baseUrl: `${at}/base/v1/` });
  gateway = await startGateway(episodes);
});
afterAll(async () => {
  await gateway.close();
  server.close();
});
beforeEach(() => {
  heard = [];
});
const own = { authorization: "Bearer episode-key" };
const ask = (path: string, headers: Record<string, string> = own, body = '{"input":"first question"}') =>
  fetch(gateway.baseUrl + path, { method: "POST", headers, body });

test("a request is passed to its episode's model with that one's key, and the answer back as it is", async () => {
  const response = await ask("/v1/chat/completions?a=b", { ...own, "x-more": "kept", "x-retrograde-episode": "episode-key" });
  expect([response.status, await response.text(), response.headers.get("x-own")]).toEqual([201, "said", "kept"]);
  expect(heard).toMatchObject([{ method: "POST", url: "/base/v1/chat/completions?a=b", body: '{"input":"first question"}' }]);
  const { headers } = heard[0];
  expect(headers).toMatchObject({
    authorization: "Bearer the model's key",
    "x-more": "kept",
    host: at.slice(7),
    "content-length": "26",
  });
  expect(Object.keys(headers)).not.toContain("x-retrograde-episode");
  expect(Object.keys(headers)).not.toContain("accept-encoding");
  expect(episode.requests).toBe(1);
});

test.each<[string, Record<string, string>, Record<string, string>]>([
  ["Anthropic's header", { "x-api-key": "episode-key" }, { "x-api-key": "the model's key" }],
  ["Google's header", { "x-goog-api-key": "episode-key" }, { "x-goog-api-key": "the model's key" }],
])("a key in %s is replaced there", async (_, given, sent) => {
  await ask("/v1/messages", given);
  expect(heard[0].headers).toMatchObject(sent);
  expect(heard[0].headers.authorization).toBeUndefined();
});

test("a key in the address is replaced there, and Gemini's addresses are beside /v1", async () => {
  await ask("/v1beta/models/m:generateContent?key=episode-key", {});
  expect(heard[0].url).toBe("/base/v1beta/models/m:generateContent?key=the+model%27s+key");
  await ask("/other", own);
  expect(heard[1].url).toBe("/base/v1/other");
});

test("a request of no episode is refused, and a page's script too", async () => {
  const before = episode.requests;
  const stray = await ask("/v1/chat/completions", { authorization: "Bearer x", "x-retrograde-episode": "gone" }, "{}");
  expect([stray.status, ((await stray.json()) as { error: { code: string } }).error.code]).toEqual([401, "invalid_api_key"]);
  expect((await ask("/v1/chat/completions", { ...own, origin: "https://evil.example" })).status).toBe(403);
  expect([heard, episode.requests]).toEqual([[], before]);
});

test("a server that is not there is a bad gateway", async () => {
  const lost = episodes.begin("lost", "second question", { baseUrl: "http://127.0.0.1:9/v1", apiKey: "k", name: "m" });
  const response = await ask("/v1/chat/completions", { authorization: "Bearer lost" }, '{"input":"second question"}');
  const { error } = (await response.json()) as { error: { message: string; type: string } };
  expect([response.status, error.type]).toEqual([502, "server_error"]);
  expect(error.message).toMatch(/^the model's server is "http:\/\/127\.0\.0\.1:9"; expected an answer\. /);
  episodes.end(lost, true);
});

test("a request without a body has no length, and a silence that is too long ends it", async () => {
  const { signal } = new AbortController();
  const request = { method: "GET", headers: {}, signal } as unknown as Parameters<typeof forward>[0];
  const answer = await forward(request, new URL(`${at}/a`), "k", Buffer.alloc(0));
  answer.resume();
  expect(heard[0]).toMatchObject({ method: "GET", body: "", headers: { authorization: "Bearer k" } });
  expect(heard[0].headers["content-length"]).toBeUndefined();
  await expect(forward(request, new URL(`${at}/silent`), "k", Buffer.alloc(0), 30)).rejects.toThrow("nothing for 30 ms");
});
