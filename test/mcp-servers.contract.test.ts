import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import type { McpServer } from "../extensions/tools/mcp/connection.ts";
import { connectMcp } from "../extensions/tools/mcp/mcp.ts";
import type { Mcp, McpSettings } from "../extensions/tools/mcp/settings.ts";
import { defineEnvironment } from "../src/environments/define.ts";
import { callTool } from "../src/rollouts/call-tool.ts";
import type { Tool } from "../src/tools/tool.ts";

/** Published MCP servers, as strangers start and ask them. `.ci/mcp-servers` installs them. */
const folder = process.env.RETROGRADE_MCP_SERVERS;

const npm = (name: string) => join(folder ?? "", "node_modules/.bin", name);
const python = join(folder ?? "", "python/bin/python");
const fastmcp = join(import.meta.dirname, "fixtures/mcp/fastmcp_server.py");

const started = {
  everything: { command: npm("mcp-server-everything") },
  filesystem: { command: npm("mcp-server-filesystem"), args: [tmpdir()] },
  notion: { command: npm("notion-mcp-server"), env: { NOTION_TOKEN: "ntn_none" } },
  thinking: { command: npm("mcp-server-sequential-thinking") },
} as const;

const open: Mcp[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((mcp) => mcp.close()));
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function connect(server: McpServer, settings: McpSettings = {}): Promise<Mcp> {
  const mcp = await connectMcp(server, settings);
  open.push(mcp);
  return mcp;
}

const call = ({ tools }: { readonly tools: readonly Tool[] }, name: string, args: Record<string, unknown> = {}) =>
  callTool(tools, { name, arguments: args });
const read = async (mcp: { readonly tools: readonly Tool[] }, name: string, args?: Record<string, unknown>) =>
  (await call(mcp, name, args)).content;

/** Starts a server that is reached by HTTP. @returns the process, once something answers at its port */
async function serve(command: string, args: readonly string[], port: number): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: "ignore", env: { ...process.env, PORT: String(port) } });
  children.push(child);
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${command} ended`);
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer !== undefined) return child;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** The tools as they are on the wire, without any client. */
async function toolsOnTheWire({ command, args = [], env }: { command: string; args?: readonly string[]; env?: object }) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"], env: { ...process.env, ...env } });
  children.push(child);
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "wire", version: "1" };
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, result } = JSON.parse(line);
    if (id === 1) {
      send({ method: "notifications/initialized" });
      send({ id: 2, method: "tools/list" });
    }
    if (id === 2) return result.tools as { name: string; description?: string; inputSchema: object; execution?: object }[];
  }
  throw new Error("no list of tools");
}

describe.skipIf(folder === undefined)("published MCP servers (RETROGRADE_MCP_SERVERS)", () => {
  test.each(Object.entries(started))("the tools of %s are shown to the model as the server has them", async (_, server) => {
    const [{ tools }, wire] = await Promise.all([connect(server), toolsOnTheWire(server)]);
    const shown = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
    // It runs as a task only.
    const callable = wire.filter(({ name }) => name !== "simulate-research-query");
    expect(callable.length).toBeGreaterThan(0);
    expect(shown).toEqual(
      callable.map(({ name, description = "", inputSchema }) => ({ name, description, parameters: inputSchema })),
    );
  });

  describe.each([
    ["stdio", ""],
    ["streamableHttp", "/mcp"],
    ["sse", "/sse"],
  ])("server-everything over %s", (kind, path) => {
    test("its results are those that it gives", async () => {
      const port = await freePort();
      if (path !== "") await serve(npm("mcp-server-everything"), [kind], port);
      const server = path === "" ? started.everything : { url: `http://127.0.0.1:${port}${path}` };
      const mcp = await connect(server, { timeoutMs: 1000 });
      expect(mcp.instructions).toContain("# Everything Server");
      expect(await read(mcp, "get-sum", { a: 1, b: 2 })).toBe("The sum of 1 and 2 is 3.");
      expect(await read(mcp, "get-tiny-image")).toMatch(/^Here.*\n\[image image\/png, 4033 bytes: not shown\]\n/);
      expect(JSON.parse(await read(mcp, "get-structured-content", { location: "Chicago" }))).toEqual(
        expect.objectContaining({ conditions: expect.any(String) }),
      );
      expect(await read(mcp, "get-resource-links", { count: 1 })).toMatch(/\[link to .*: demo:\/\/resource\/dynamic\/\w+\/1\]$/);
      expect(await read(mcp, "get-resource-reference", { resourceType: "Blob", resourceId: 1 })).toMatch(
        /\[resource demo:\/\/resource\/dynamic\/blob\/1, \d+ bytes: not shown\]/,
      );
      expect(await call(mcp, "trigger-long-running-operation", { duration: 60, steps: 600 })).toEqual({
        valid: true,
        failure: "timeout",
        content: "Error: trigger-long-running-operation gave no answer within 1000 ms",
      });
      expect(await read(mcp, "echo", { message: "still there" })).toBe("Echo: still there");
    });
  });

  test.each(["http", "sse"])("FastMCP over %s", async (kind) => {
    const port = await freePort();
    await serve(python, [fastmcp, kind, String(port)], port);
    const mcp = await connect({ url: `http://127.0.0.1:${port}/mcp` });
    const node = { name: "a", children: [{ name: "b" }] };
    expect(await read(mcp, "depth", { node })).toBe("2");
    expect(await call(mcp, "depth", { node: { name: "a", children: [{}] } })).toMatchObject({ valid: false, failure: "invalid" });
    expect(await call(mcp, "fail")).toEqual({
      valid: true,
      failure: "error",
      content: "Error: Error calling tool 'fail': no such thing",
    });
    expect(await read(mcp, "ask")).toBe("Error: Error calling tool 'ask': Method not found");
    expect(await read(mcp, "long", { characters: 3e5 })).toMatch(/^x{20000}\n\[cut: the first 20000 of 300000 characters\]$/);
    expect(await read(mcp, "count")).toBe("1");
    expect(await read(mcp, "long", { characters: 12e6 })).toMatch(/ended during the call.* more than 10485760 bytes/);
    expect(await read(mcp, "count")).toBe("2");
  });

  test("an old server that ends in a call is reported, and reached again when it is back", async () => {
    const port = await freePort();
    const child = await serve(npm("mcp-server-everything"), ["sse"], port);
    const mcp = await connect({ url: `http://127.0.0.1:${port}/sse` });
    const pending = read(mcp, "trigger-long-running-operation", { duration: 60, steps: 600 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    child.kill("SIGKILL");
    expect(await pending).toMatch(/^Error: the MCP server .* ended during the call/);
    expect(await read(mcp, "echo", { message: "hm" })).toMatch(/^Error: .*"not there"/);
    await serve(npm("mcp-server-everything"), ["sse"], port);
    expect(await read(mcp, "echo", { message: "again" })).toBe("Echo: again");
  });

  test("episodes that share a server share its state, and those that connect have their own", async () => {
    const shared = await connect(started.thinking);
    const thoughts = async (own: boolean) => {
      const environment = defineEnvironment({
        name: "thinking",
        tasks: [{ prompt: "Think." }],
        start: async () => {
          const { tools, close } = own ? await connectMcp(started.thinking) : shared;
          return { tools, reward: () => 1, ...(own ? { close } : {}) };
        },
      });
      const task = await environment.task("train", 0);
      const counts: number[] = [];
      for (const episode of [await environment.start(task, 0), await environment.start(task, 1)]) {
        const thought = { thought: "hm", nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 };
        counts.push(JSON.parse(await read(episode, "sequentialthinking", thought)).thoughtHistoryLength);
        await episode.close?.();
      }
      return counts;
    };
    expect(await thoughts(false)).toEqual([1, 2]);
    expect(await thoughts(true)).toEqual([1, 1]);
  });

  test("server-filesystem: files are read and written, and what is refused is a failed call", async () => {
    const own = mkdtempSync(join(tmpdir(), "mcp-files-"));
    writeFileSync(join(own, "a.txt"), "one\ntwo\n");
    const mcp = await connect({ ...started.filesystem, args: [own] });
    expect(await read(mcp, "read_text_file", { path: join(own, "a.txt"), head: 1 })).toBe("one");
    expect(await read(mcp, "write_file", { path: join(own, "b.txt"), content: "x" })).toMatch(/^Successfully wrote/);
    expect(await call(mcp, "read_text_file", { path: "/etc/passwd" })).toMatchObject({
      failure: "error",
      content: expect.stringMatching(/^Error: Access denied/),
    });
  });

  test("Notion's server is called with the model's arguments: a default of a schema archives no block", async () => {
    const bodies: string[] = [];
    const api = createServer(async (request, response) => {
      let body = "";
      for await (const part of request) body += part;
      bodies.push(body);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    }).listen(0, "127.0.0.1");
    await once(api, "listening");
    const env = { ...started.notion.env, BASE_URL: `http://127.0.0.1:${(api.address() as AddressInfo).port}` };
    const mcp = await connect({ ...started.notion, env });
    const update = mcp.tools.find(({ name }) => name === "API-update-a-block");
    expect(update?.parameters).toMatchObject({ properties: { archived: { default: true } } });
    expect(await read(mcp, "API-update-a-block", { block_id: "b1", type: { paragraph: {} } })).toBe("{}");
    api.close();
    expect(bodies.map((body) => JSON.parse(body))).toEqual([{ type: { paragraph: {} } }]);
  });
});
