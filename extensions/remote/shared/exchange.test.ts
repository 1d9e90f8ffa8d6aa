import "../../../test/loopback.ts";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { type Exchange, exchange, LateError, WireError } from "./exchange.ts";

const running: Server[] = [];
afterEach(() => {
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A server that notes whole requests. `sockets` counts connections. */
async function serve(listener: RequestListener) {
  const seen: Seen[] = [];
  const count = { sockets: 0 };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body });
      listener(request, response);
    });
  });
  server.on("connection", () => count.sockets++);
  running.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, seen, count };
}

async function ask(url: string, options: Partial<Exchange> = {}) {
  let text = "";
  const onPart = (part: Uint8Array) => {
    text += Buffer.from(part).toString();
    return false;
  };
  const all = { method: "GET", headers: {}, body: undefined, timeoutMs: 20_000, signal: undefined, onPart, ...options } as const;
  const answer = await exchange({ ...all, url: new URL(url) });
  return { ...answer, text };
}

test("a request is sent as it is given, and its answer comes with status and cookies, over one connection", async () => {
  const { url, seen, count } = await serve((_, response) =>
    response.writeHead(201, { "set-cookie": ["a=1", "b=2"] }).end("made"),
  );
  const made = { status: 201, setCookies: ["a=1", "b=2"], text: "made" };
  expect(await ask(url, { method: "POST", body: '"ä"', headers: { "x-key": "k" } })).toEqual(made);
  expect(await ask(`${url}a?b=c`)).toEqual(made);
  const json = { "content-type": "application/json", "content-length": "4", "accept-encoding": "identity", "x-key": "k" };
  expect(seen[0]).toMatchObject({ method: "POST", body: '"ä"', headers: json });
  expect(seen[1]).toMatchObject({ method: "GET", url: "/a?b=c", body: "" });
  expect(seen[1].headers).not.toHaveProperty("content-type");
  expect(count.sockets).toBe(1);
});

test.each([
  ["GET", 301, true],
  ["GET", 302, true],
  ["GET", 303, false],
  ["GET", 307, true],
  ["GET", 308, true],
  ["POST", 301, false],
  ["POST", 302, false],
  ["POST", 307, true],
  ["POST", 308, true],
] as const)("a %s that is answered %i is followed to the same server: %s", async (method, status, follows) => {
  const { url, seen } = await serve((request, response) =>
    request.url === "/" ? response.writeHead(status, { location: "/next" }).end("moved") : response.end("here"),
  );
  const body = method === "POST" ? "{}" : undefined;
  expect(await ask(url, { method, body, headers: { key: "k" } })).toMatchObject(
    follows ? { status: 200, text: "here" } : { status, text: "moved" },
  );
  if (follows) expect(seen[1]).toMatchObject({ method, url: "/next", body: body ?? "", headers: { key: "k" } });
});

test("no redirection is followed elsewhere or to nowhere, and five are the most", async () => {
  const other = await serve((_, response) => response.end("stolen"));
  const { url, seen } = await serve((request, response) => {
    const [kind = "", number = ""] = (request.url ?? "").slice(1).split("/");
    if (kind === "other") response.writeHead(307, { location: other.url }).end();
    else if (kind === "nowhere") response.writeHead(307).end();
    else if (kind === "wrong") response.writeHead(307, { location: "http://" }).end();
    else if (Number(number) === 0) response.end("here");
    else response.writeHead(307, { location: `/chain/${Number(number) - 1}` }).end();
  });
  for (const path of ["other", "nowhere", "wrong"]) expect((await ask(`${url}${path}`)).status).toBe(307);
  expect(other.seen).toEqual([]);
  expect((await ask(`${url}chain/5`)).text).toBe("here");
  const before = seen.length;
  await expect(ask(`${url}chain/6`)).rejects.toThrow(new WireError("more than 5 redirections"));
  expect(seen.length - before).toBe(6);
});

test("reading stops where the caller says so, and the connection is ended a second later", async () => {
  const ended = vi.fn();
  const { url, count } = await serve((_, response) => {
    response.on("close", ended).write("one");
    setTimeout(() => response.write("two"), 20);
  });
  let parts = "";
  const onPart = (part: Uint8Array, status: number) => {
    parts += `${status} ${Buffer.from(part).toString()}`;
    return true;
  };
  expect(await ask(url, { onPart })).toMatchObject({ status: 200 });
  expect(ended).not.toHaveBeenCalled();
  await vi.waitFor(() => expect(ended).toHaveBeenCalled(), { timeout: 60_000 });
  expect(parts).toBe("200 one");
  expect(count.sockets).toBe(1);
});

test("an answer that is late, broken or cancelled is an error of its own kind", async () => {
  const { url } = await serve((request, response) => {
    if (request.url === "/silent") return;
    response.write("half");
    if (request.url === "/broken") setTimeout(() => response.destroy(), 10);
  });
  for (const path of ["silent", "slow"])
    await expect(ask(`${url}${path}`, { timeoutMs: 60 })).rejects.toThrow(new LateError("no answer within 60 ms"));
  await expect(ask(`${url}broken`)).rejects.toBeInstanceOf(WireError);
  await expect(ask("http://127.0.0.1:1/")).rejects.toThrow(/ECONNREFUSED/);
  for (const path of ["silent", "slow"]) {
    const stop = new AbortController();
    const asked = ask(`${url}${path}`, { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("enough")), 20);
    await expect(asked).rejects.toThrow(new Error("enough"));
  }
  const onPart = () => {
    throw new RangeError("too much");
  };
  await expect(ask(`${url}slow`, { onPart })).rejects.toThrow(new RangeError("too much"));
});

test("a kept connection that the server has closed is replaced, for what changes nothing alone", async () => {
  const answered = new WeakSet<object>();
  const { url, count } = await serve((request, response) => {
    if (answered.has(request.socket)) return void request.socket.destroy();
    answered.add(request.socket);
    response.end("here");
  });
  expect((await ask(url)).text).toBe("here");
  expect((await ask(url)).text).toBe("here");
  expect(count.sockets).toBe(2);
  await expect(ask(url, { method: "POST", body: "{}" })).rejects.toBeInstanceOf(WireError);
});
