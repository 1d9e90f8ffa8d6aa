import "../../../test/loopback.ts";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { ConfigError, ToolError } from "../../../src/core/errors.ts";
import { callTool } from "../../../src/rollouts/call-tool.ts";
import { asText } from "./content.ts";
import { connectMcp } from "./mcp.ts";
import type { Mcp, McpSettings } from "./settings.ts";

const running: Server[] = [];
const open: Mcp[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((mcp) => mcp.close()));
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params: { readonly protocolVersion?: string; readonly name?: string; readonly arguments?: Record<string, unknown> };
}
type Answer = (message: Message, request: IncomingMessage, response: ServerResponse) => object | number | undefined;

const object = { type: "object" };
const said = (text: string, more: object = {}) => ({ content: [{ type: "text", text }], ...more });

/** A server of streamable HTTP that answers in JSON. `answer` comes first: a result, an error, a status, or undefined for the usual one. */
async function serve(answer: Answer = () => undefined, ended: Promise<void> = Promise.resolve()) {
  const seen: {
    method: string | undefined;
    session: string | undefined;
    message?: Message;
    headers: IncomingMessage["headers"];
  }[] = [];
  let sessions = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const message: Message | undefined = text === "" ? undefined : JSON.parse(text);
    const session = request.headers["mcp-session-id"] as string | undefined;
    seen.push({ method: request.method, session, headers: request.headers, ...(message && { message }) });
    if (request.method === "DELETE") await ended;
    if (message === undefined) return void response.writeHead(request.method === "DELETE" ? 200 : 405).end();
    const own = answer(message, request, response);
    if (response.headersSent) return;
    if (typeof own === "number") return void response.writeHead(own).end();
    if (message.id === undefined) return void response.writeHead(202).end();
    const usual: Record<string, object> = {
      initialize: {
        ...{ protocolVersion: message.params?.protocolVersion, capabilities: { tools: {} } },
        ...{ serverInfo: { name: "s", version: "1" }, instructions: "Add with care." },
      },
      ping: {},
      "tools/list": { tools: [{ name: "add", description: "Adds.", inputSchema: object }] },
      "tools/call": said("5"),
    };
    const body = own !== undefined && "error" in own ? own : { result: own ?? usual[message.method] ?? {} };
    const headers = message.method === "initialize" ? { "mcp-session-id": `s${++sessions}` } : {};
    response.writeHead(200, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...body }));
  });
  running.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
}

async function connect(server: Parameters<typeof connectMcp>[0], settings: McpSettings = {}): Promise<Mcp> {
  const mcp = await connectMcp(server, { name: "test", ...settings });
  open.push(mcp);
  return mcp;
}
const ask = async (mcp: Mcp, name = "add", args: Record<string, unknown> = {}) =>
  (await callTool(mcp.tools, { name, arguments: args })).content;

test("content is read as text: other kinds by name, type and bytes, structure where there is nothing else", () => {
  const bytes = Buffer.from("hello").toString("base64");
  const content = [
    { type: "text", text: "one" },
    { type: "image", data: bytes, mimeType: "image/png" },
    { type: "audio", data: bytes, mimeType: "audio/wav" },
    { type: "resource_link", name: "c", uri: "http://c" },
    { type: "resource", resource: { uri: "file:///a", text: "of a file" } },
    { type: "resource", resource: { uri: "file:///b", blob: bytes } },
  ] as const;
  expect(asText({ content: [...content] }).split("\n")).toEqual([
    ...["one", "[image image/png, 5 bytes: not shown]", "[audio audio/wav, 5 bytes: not shown]", "[link to c: http://c]"],
    ...["of a file", "[resource file:///b, 5 bytes: not shown]"],
  ]);
  expect(asText({ content: [], structuredContent: { n: 1 } })).toBe('{"n":1}');
  expect(asText({ content: [...content].slice(0, 1), structuredContent: { n: 1 } })).toBe("one");
  expect(asText({ content: [] })).toBe("");
});

test("tools come as the server describes them, with what it promises of a second call, and a session of its own", async () => {
  const annotated = (name: string, annotations?: object, more: object = {}) => ({
    name,
    inputSchema: object,
    annotations,
    ...more,
  });
  const { url, seen } = await serve(({ method }) =>
    method === "tools/list"
      ? {
          tools: [
            annotated("plain"),
            annotated("reads", { readOnlyHint: true }),
            annotated("again", { idempotentHint: true }, { description: "Again." }),
            annotated("once", { idempotentHint: false, readOnlyHint: false }),
            annotated("task", {}, { execution: { taskSupport: "required" } }),
            annotated("either", {}, { execution: { taskSupport: "optional" } }),
          ],
        }
      : undefined,
  );
  const mcp = await connect({ url, headers: { "x-own": "1" } }, { timeoutMs: 20_000, startMs: 30_000 });
  expect(mcp.instructions).toBe("Add with care.");
  expect(mcp.tools.map(({ name, description, idempotent, timeoutMs }) => [name, description, idempotent, timeoutMs])).toEqual([
    ["plain", "", false, 50_000],
    ["reads", "", true, 50_000],
    ["again", "Again.", true, 50_000],
    ["once", "", false, 50_000],
    ["either", "", false, 50_000],
  ]);
  expect(await ask(mcp, "plain", { a: 1 })).toBe("5");
  expect(seen.find(({ message }) => message?.method === "tools/call")).toMatchObject({
    ...{ session: "s1", headers: { "x-own": "1" }, message: { params: { name: "plain", arguments: { a: 1 } } } },
  });
  expect(seen.some(({ method }) => method === "DELETE")).toBe(false);
  await mcp.close();
  expect(seen.at(-1)).toMatchObject({ method: "DELETE", session: "s1" });
  expect(await ask(mcp, "plain")).toMatch(/MCP server test is "closed"/);
});

test.each([
  ["a result that is an error", said("no connection", { isError: true }), "Error: no connection"],
  ["an error without words", { content: [], isError: true }, "Error: add failed, and gave no reason"],
  ["a refusal", { error: { code: -32_602, message: "a is missing" } }, /^Error: .*a is missing/],
  ["something else", { content: "hm" }, /^Error: the MCP server test answered with something else than a result/],
])("%s is told to the model, and the connection stays", async (_, answer, text) => {
  const { url, seen } = await serve(({ method }) => (method === "tools/call" ? answer : undefined));
  const mcp = await connect({ url });
  for (let i = 0; i < 2; i++) expect(await ask(mcp)).toEqual(typeof text === "string" ? text : expect.stringMatching(text));
  expect(seen.filter(({ message }) => message?.method === "initialize")).toHaveLength(1);
});

test("a session that the server does not know is begun again once; a server that fails otherwise is connected by the next call", async () => {
  let statuses: (number | undefined)[] = [404];
  const { url, seen } = await serve(({ method }) => (method === "tools/call" ? statuses.shift() : undefined));
  const mcp = await connect({ url });
  const count = (of: string) => seen.filter(({ message }) => message?.method === of).length;
  expect(await ask(mcp)).toBe("5");
  expect([count("initialize"), count("tools/call")]).toEqual([2, 2]);
  statuses = [404, 404];
  expect(await ask(mcp)).toMatch(/^Error: the MCP server test ended during the call, or cannot be reached/);
  expect([count("initialize"), count("tools/call")]).toEqual([3, 4]);
  statuses = [500];
  expect(await ask(mcp)).toMatch(/^Error: the MCP server test ended during the call/);
  expect([count("initialize"), count("tools/call")]).toEqual([4, 5]);
  expect(await ask(mcp)).toBe("5");
});

test("a connection that ends slowly does not end the one that has replaced it", async () => {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const statuses = [500];
  const { url, seen } = await serve(({ method }) => (method === "tools/call" ? statuses.shift() : undefined), ended);
  const mcp = await connect({ url });
  const failing = ask(mcp);
  await expect.poll(() => seen.map(({ method }) => method)).toContain("DELETE");
  expect(await ask(mcp)).toBe("5");
  end();
  expect(await failing).toMatch(/ended during the call/);
  expect(await ask(mcp)).toBe("5");
  expect(seen.filter(({ message }) => message?.method === "initialize")).toHaveLength(2);
});

test("no secret of the address, of headers or of parameters is in a message; short values are no secrets", async () => {
  const echo = "hidden-header hidden-param hidden-word tiny";
  const { url } = await serve(({ method }) => (method === "tools/call" ? said(echo, { isError: true }) : undefined));
  const broken = await serve(({ method }, _, response) => {
    if (method === "tools/call") response.writeHead(500).end(echo);
    return undefined;
  });
  const secret = (at: string) => ({
    url: `${at.replace("//", "//ann:hidden-word@")}?key=hidden-param&mode=tiny`,
    headers: { key: "hidden-header" },
  });
  const answer = await ask(await connect(secret(broken.url)));
  expect(answer).toMatch(/ended during the call/);
  expect(answer).not.toContain("hidden");
  expect(answer).toContain("[key] [key] [key] tiny");
  // The tool's own words are the server's to say.
  expect(await ask(await connect(secret(url)))).toBe(`Error: ${echo}`);
});

test("what cannot be used is refused with what is missing", async () => {
  const { url } = await serve(({ method }) => (method === "tools/list" ? { tools: [] } : undefined));
  await expect(connect({ url })).rejects.toThrow(/MCP server test is "without tools"; expected tools that can be called/);
  for (const status of [400, 401, 404, 405, 500]) {
    const refusing = await serve(({ method }) => (method === "initialize" ? status : undefined));
    await expect(connect({ url: refusing.url })).rejects.toThrow(ToolError);
    // Only these say that the server may speak the older protocol, which begins with a GET.
    expect(refusing.seen.some(({ method }) => method === "GET")).toBe([400, 404, 405].includes(status));
  }
  await expect(connect({ url: "http://127.0.0.1:1/mcp" })).rejects.toThrow(
    /"not there"; expected a server that starts and answers/,
  );
  await expect(connect({ url, port: 1 } as never)).rejects.toThrow(ConfigError);
  await expect(connect({ url }, { timeoutMs: 0 })).rejects.toThrow(/mcp\.timeoutMs/);
  const silent = await serve((_, __, response) => void response.flushHeaders());
  await expect(connect({ url: silent.url }, { startMs: 100 })).rejects.toThrow(
    /no answer within 100 ms\. npx and uvx install before they start it: startMs gives it longer/,
  );
});

test("an address whose path ends in /sse is asked in the older protocol at once", async () => {
  const { url, seen } = await serve();
  await expect(connect({ url: url.replace(/mcp$/, "sse/") })).rejects.toThrow(/not there/);
  expect(seen.map(({ method }) => method)).toEqual(["GET"]);
});

test("an answer of megabytes ends the connection, and the next call has another", async () => {
  let floods = 1;
  const { url, seen } = await serve(({ method }) =>
    method === "tools/call" && floods-- > 0 ? said("x".repeat(10 * 2 ** 20)) : undefined,
  );
  const mcp = await connect({ url });
  expect(await ask(mcp)).toMatch(/ended during the call, or cannot be reached: .*a message of more than 10485760 bytes/);
  expect(await ask(mcp)).toBe("5");
  expect(seen.filter(({ message }) => message?.method === "initialize")).toHaveLength(2);
});
