import "../../test/loopback.ts";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { fetchFromOrigin } from "./same-origin.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** @param location answers with a redirection there, where it is given */
async function serve(status = 200, location?: (path: string) => string | undefined) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const to = location?.(request.url ?? "");
    response.writeHead(to === undefined ? 200 : status, to === undefined ? {} : { location: to }).end("here");
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await new Promise((resolve) => server.once("listening", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const headers = { "x-api-key": "secret", authorization: "Bearer secret", cookie: "secret" };
const secrets = ({ headers: { "x-api-key": key, authorization, cookie } }: IncomingMessage) => [key, authorization, cookie];

test.each([301, 302, 303, 307, 308])(
  "a redirection by %i to another port of the same host takes no key along",
  async (status) => {
    const other = await serve();
    const first = await serve(status, () => `${other.url}/file`);
    expect(await (await fetchFromOrigin(`${first.url}/a`, { headers })).text()).toBe("here");
    expect(first.requests.map(secrets)).toEqual([["secret", "Bearer secret", "secret"]]);
    expect(other.requests.map(secrets)).toEqual([[undefined, undefined, undefined]]);
  },
);

test("on the same server it does, and comes back without it", async () => {
  const other = await serve(307, () => `${first.url}/c`);
  const first = await serve(307, (path) => (path === "/a" ? "/b" : path === "/b" ? `${other.url}/` : undefined));
  await fetchFromOrigin(`${first.url}/a`, { headers });
  expect(first.requests.map((request) => [request.url, secrets(request)[0]])).toEqual([
    ["/a", "secret"],
    ["/b", "secret"],
    ["/c", undefined],
  ]);
});

test("contents are not sent to another server, and redirections end", async () => {
  const other = await serve();
  const first = await serve(307, (path) => (path === "/loop" ? "/loop" : other.url));
  await expect(fetchFromOrigin(first.url, { method: "POST", body: "mine", headers })).rejects.toThrow(/another server/);
  expect(other.requests).toEqual([]);
  await expect(fetchFromOrigin(`${first.url}/loop`)).rejects.toThrow(/more than 5 redirections/);
});
