import "../../../test/loopback.ts";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { bulkFetch } from "./bulk.ts";

let server: Server | undefined;
afterEach(() => {
  vi.restoreAllMocks();
  server?.closeAllConnections();
  server?.close();
});

async function serve() {
  const seen: { url: string | undefined; headers: IncomingMessage["headers"]; body: string }[] = [];
  const count = { sockets: 0 };
  const listening = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    seen.push({ url: request.url, headers: request.headers, body });
    if (request.url?.startsWith("/broken")) return void request.socket.destroy();
    if (request.url?.startsWith("/silent")) return;
    response.writeHead(207, { "content-type": "a/b", "set-cookie": ["x", "y"] });
    response.write("one ");
    setImmediate(() => response.end("two"));
  });
  listening.on("connection", () => count.sockets++);
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  return { at: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, seen, count };
}

const request = (signal = new AbortController().signal) => ({
  ...{ method: "POST", headers: { "x-api-key": "k" }, body: new TextEncoder().encode("ä"), signal },
});

test("samples and polls go over one kept connection of Node's own, with their length, and come whole", async () => {
  const { at, seen, count } = await serve();
  const platform = vi.spyOn(globalThis, "fetch");
  const fetch = bulkFetch();
  for (const path of ["/api/v1/asample", "/api/v1/retrieve_future"]) {
    const answer = await fetch(`${at}${path}`, request());
    expect(answer.status).toBe(207);
    expect([answer.headers.get("content-type"), answer.headers.get("retry-after")]).toEqual(["a/b", null]);
    expect(answer.headers.get("set-cookie")).toBe("x, y");
    expect(Buffer.from(new Uint8Array(await answer.arrayBuffer())).toString()).toBe("one two");
  }
  expect(seen[0]).toMatchObject({ url: "/api/v1/asample", body: "ä", headers: { "content-length": "2", "x-api-key": "k" } });
  expect(count.sockets).toBe(1);
  expect(platform).not.toHaveBeenCalled();
});

test("all else goes the platform's way", async () => {
  const { at } = await serve();
  const platform = vi.spyOn(globalThis, "fetch");
  const fetch = bulkFetch();
  const others = [
    ["/api/v1/asample", { ...request(), method: "GET", body: undefined }],
    ["/api/v1/asample/more", request()],
    ["/api/v1/optim_step", request()],
  ] as const;
  for (const [path, asked] of others) expect((await fetch(`${at}${path}`, asked)).status).toBe(207);
  expect(platform).toHaveBeenCalledTimes(3);
});

test("a connection that breaks, and a caller that leaves, are errors", async () => {
  const { at } = await serve();
  const fetch = bulkFetch();
  await expect(fetch(`${at}/broken/asample`, request())).rejects.toMatchObject({
    code: expect.stringMatching(/ECONNRESET|EPIPE/),
  });
  await expect(fetch("http://127.0.0.1:1/asample", request())).rejects.toMatchObject({ code: "ECONNREFUSED" });
  const stop = new AbortController();
  const asked = fetch(`${at}/silent/asample`, request(stop.signal));
  setTimeout(() => stop.abort(), 20);
  await expect(asked).rejects.toMatchObject({ name: "AbortError" });
});
