import "../../test/loopback.ts";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { openRelay, type Relay } from "./relay.ts";

interface Asked {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}
const asked: Asked[] = [];
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  asked.length = 0;
});

const answered = JSON.stringify({ choices: [{ message: { content: "Hi." }, finish_reason: "stop" }] });

/** A model's server, and a relay to it. */
async function relayTo(
  answer: (response: ServerResponse, asked: Asked) => void,
  name?: string,
): Promise<Relay & { upstream: Server }> {
  const upstream = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      const one = { url: request.url ?? "", headers: request.headers, body };
      asked.push(one);
      answer(response, one);
    });
  });
  await new Promise<void>((ready) => upstream.listen(0, "127.0.0.1", ready));
  const { port } = upstream.address() as AddressInfo;
  const relay = await openRelay({ baseUrl: `http://127.0.0.1:${port}/base/v1`, apiKey: "its own", name });
  closing.push(
    () => new Promise((closed) => upstream.close(closed)),
    () => relay.close(),
  );
  return { ...relay, upstream };
}

const post = (
  url: string,
  headers: Record<string, string>,
  body: object = { model: "m", messages: [{ role: "user", content: "?" }] },
) => fetch(url, { method: "POST", headers: { connection: "close", ...headers }, body: JSON.stringify(body) });

test.each([
  ["authorization", (key: string) => `Bearer ${key}`, "Bearer its own"],
  ["x-api-key", (key: string) => key, "its own"],
  ["x-goog-api-key", (key: string) => key, "its own"],
])("the server's key goes into %s, where the attempt's was", async (header, value, expected) => {
  const relay = await relayTo((response) => void response.end(answered), "measured");
  const { apiKey } = relay.open();
  const response = await post(`${relay.baseUrl}/chat/completions`, { [header]: value(apiKey), "x-own": "kept" });
  expect([response.status, await response.text()]).toEqual([200, answered]);
  const [{ url, headers, body }] = asked;
  expect(url).toBe("/base/v1/chat/completions");
  expect(headers).toMatchObject({ [header]: expected, "x-own": "kept", "content-length": String(body.length) });
  expect(JSON.stringify(headers)).not.toContain(apiKey);
  expect(headers["accept-encoding"]).toBeUndefined();
  expect(JSON.parse(body).model).toBe("measured");
});

test("a key and a model in the address are replaced too", async () => {
  const relay = await relayTo((response) => void response.end("{}"), "measured");
  const { apiKey } = relay.open();
  await post(`${relay.baseUrl}/models/any:generateContent?key=${apiKey}`, {}, {});
  expect(asked[0]).toMatchObject({ url: "/base/v1/models/measured:generateContent?key=its+own", body: "{}" });
});

test("a target that looks like another server stays at the model's", async () => {
  const relay = await relayTo((response) => void response.end("{}"));
  const { apiKey } = relay.open();
  const { origin } = new URL(relay.baseUrl);
  await post(`${origin}//127.0.0.1:9/v1/chat/completions`, { authorization: `Bearer ${apiKey}` });
  expect(asked[0]?.url).toBe("//127.0.0.1:9/v1/chat/completions");
});

test("without a name the agent's own is asked for; a key of no running attempt is refused", async () => {
  const relay = await relayTo((response) => void response.end(answered));
  const attempt = relay.open();
  const headers = { authorization: `Bearer ${attempt.apiKey}` };
  await post(`${relay.baseUrl}/chat/completions`, headers);
  expect(JSON.parse(asked[0]?.body ?? "").model).toBe("m");
  expect(attempt.exchanges()).toMatchObject([{ messages: [{ content: "?" }], answer: { content: "Hi." } }]);
  attempt.end();
  for (const given of [headers, {}, { authorization: "Bearer its own" }]) {
    const refused = await post(`${relay.baseUrl}/chat/completions`, given);
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining("the key of the request is")]);
  }
  expect(asked).toHaveLength(1);
});

test.each([
  [500, "busy", "it answered 500 busy"],
  [429, '{"error":"slow down"}', 'it answered 429 {"error":"slow down"}'],
  [200, ' { "error": {"code": 502} }', 'it answered 200 { "error": {"code": 502} }'],
  [200, ' {"error":"gone"}', 'it answered 200 {"error":"gone"}'],
  [200, '{"error":null}', undefined],
  [200, answered, undefined],
  [400, '{"error":{"message":"too long"}}', undefined],
  [300, '{"error":"moved"}', undefined],
])("an answer of %i %s: whose fault", async (status, body, fault) => {
  const relay = await relayTo((response) => void response.writeHead(status).end(body));
  const attempt = relay.open();
  const response = await post(`${relay.baseUrl}/chat/completions`, { "x-api-key": attempt.apiKey });
  expect([response.status, await response.text()]).toEqual([status, body]);
  expect(attempt.fault()).toEqual(fault && expect.stringMatching(/^the server at http:\/\/127\.0\.0\.1:\d+\/base\/v1: /));
  expect(attempt.fault()?.split("/base/v1: ")[1]).toBe(fault);
  expect(attempt.exchanges()).toHaveLength(status < 300 ? 1 : 0);
});

test("the last answer decides: an agent that asked again with success met no fault", async () => {
  const relay = await relayTo((response) => void response.writeHead(asked.length === 1 ? 503 : 200).end(answered));
  const attempt = relay.open();
  const other = relay.open();
  const ask = async () => (await post(`${relay.baseUrl}/chat/completions`, { "x-api-key": attempt.apiKey })).text();
  await ask();
  expect([attempt.fault(), other.fault()]).toEqual([expect.stringContaining("503"), undefined]);
  await ask();
  expect(attempt.fault()).toBeUndefined();
});

test("a server that cannot be reached, breaks off or is silent at first is at fault; a client that leaves is not its fault", async () => {
  let left: ServerResponse | undefined;
  const relay = await relayTo((response, { body }) => {
    if (body.includes("break")) response.write('{"choices":[', () => response.destroy());
    else left = response;
  });
  const say = (apiKey: string, content: string, signal?: AbortSignal) =>
    fetch(`${relay.baseUrl}/chat/completions`, {
      ...{ method: "POST", headers: { "x-api-key": apiKey }, signal },
      body: JSON.stringify({ messages: [{ role: "user", content }] }),
    }).then((response) => response.text());
  const broken = relay.open();
  await expect(say(broken.apiKey, "break")).rejects.toThrow();
  await vi.waitFor(() => expect(broken.fault()).toContain("its answer broke off"));

  const silent = relay.open();
  const gone = new AbortController();
  const waiting = say(silent.apiKey, "wait", gone.signal).catch(() => "left");
  await vi.waitFor(() => expect(left).toBeDefined());
  expect(silent.fault()).toContain("no answer to its first request");
  gone.abort();
  expect(await waiting).toBe("left");
  await vi.waitFor(() => expect(silent.fault()).toBeUndefined());

  relay.upstream.closeAllConnections();
  await new Promise((closed) => relay.upstream.close(closed));
  const refused = relay.open();
  expect(await say(refused.apiKey, "?")).toContain("the model's server");
  expect(refused.fault()).toContain("ECONNREFUSED");
});
