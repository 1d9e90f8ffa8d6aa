import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ConfigError, ToolError } from "../../../src/core/errors.ts";
import { callTool } from "../../../src/rollouts/call-tool.ts";
import { parametersAsJsonSchema } from "../../../src/tools/tool.ts";
import { slowdown } from "../../../test/slowdown.ts";
import { connectMcp } from "./mcp.ts";
import type { Mcp, McpSettings } from "./settings.ts";

const program = join(import.meta.dirname, "../../../test/fixtures/mcp/server.mjs");
const open: Mcp[] = [];
const children: ChildProcess[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((mcp) => mcp.close()));
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function connect(server: Parameters<typeof connectMcp>[0], settings: McpSettings = {}): Promise<Mcp> {
  const mcp = await connectMcp(server, { name: "test", ...settings });
  open.push(mcp);
  return mcp;
}

const stdio = (settings: McpSettings = {}, env: Record<string, string> = {}) =>
  connect({ command: process.execPath, args: [program], env }, settings);

/** Started like a service that somebody else runs. */
async function startHttp(port = 0): Promise<{ url: string; port: number; child: ChildProcess }> {
  const child = spawn(process.execPath, [program, String(port)], { stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  const [chunk] = await once(child.stdout ?? process.stdin, "data");
  const listening = Number(String(chunk));
  return { url: `http://127.0.0.1:${listening}/mcp`, port: listening, child };
}
const headers = { authorization: "Bearer very-secret-key" };

const outcome = (mcp: Mcp, name: string, args: Record<string, unknown> = {}) => callTool(mcp.tools, { name, arguments: args });
const ask = async (mcp: Mcp, name: string, args: Record<string, unknown> = {}) => (await outcome(mcp, name, args)).content;

describe.each(["stdio", "HTTP"])("a server over %s", (kind) => {
  const start = async (settings: McpSettings = {}) =>
    kind === "stdio" ? stdio(settings) : connect({ url: (await startHttp()).url, headers }, settings);

  test("its tools keep their names and schemas, and are called", async () => {
    const mcp = await start();
    expect(mcp.tools.map(({ name }) => name).slice(0, 3)).toEqual(["add", "pid", "fail"]);
    expect(mcp.tools[0].description).toBe("Adds.");
    expect(mcp.instructions).toBe("Add with care.");
    expect(parametersAsJsonSchema(mcp.tools[0])).toMatchObject({
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a"],
    });
    expect(await ask(mcp, "add", { a: 2, b: 3 })).toBe("5");
    expect(await ask(mcp, "add", { a: 2 })).toBe("3");
    expect(await ask(mcp, "add", { a: "x" })).toMatch(/^Error: wrong arguments for add\. a: /);
    const many = await Promise.all(Array.from({ length: 20 }, (_, a) => ask(mcp, "add", { a, b: 0 })));
    expect(many).toEqual(Array.from({ length: 20 }, (_, a) => `${a}`));
  });

  test("what goes wrong in a tool is reported, and the server stays", async () => {
    const mcp = await start();
    const pid = await ask(mcp, "pid");
    expect(await outcome(mcp, "fail")).toEqual({ valid: true, failure: "error", content: "Error: no connection" });
    expect(await ask(mcp, "throw")).toMatch(/^Error: .*broken/);
    expect(await ask(mcp, "pid")).toBe(pid);
  });

  test("content that is no text is named", async () => {
    expect(await ask(await start(), "mixed")).toBe(
      "one\n[image image/png, 5 bytes: not shown]\n[audio audio/wav, 3 bytes: not shown]\nof a file\n" +
        "[resource file:///b, 3 bytes: not shown]\n[link to c: http://c]",
    );
  });

  test("a call that takes too long is given up, and the server stays where it answers others", async () => {
    const mcp = await start({ timeoutMs: 1500 });
    const pid = await ask(mcp, "pid");
    const late = { valid: true, failure: "timeout", content: "Error: hang gave no answer within 1500 ms" };
    expect(await outcome(mcp, "hang")).toEqual(late);
    expect(await ask(mcp, "pid")).toBe(pid);
  });

  test("a cancelled call ends at once", async () => {
    const mcp = await start();
    const controller = new AbortController();
    const pending = callTool(mcp.tools, { name: "hang", arguments: {} }, controller.signal);
    setTimeout(() => controller.abort(new Error("cancelled")), 20);
    await expect(pending).rejects.toThrow("cancelled");
    expect(await ask(mcp, "add", { a: 1 })).toBe("2");
  });
});

describe("a started server", () => {
  test("that dies in a call is reported, and started again by the next", async () => {
    const mcp = await stdio({}, { SECRET: "a-long-secret" });
    const pid = await ask(mcp, "pid");
    const died = await ask(mcp, "die");
    expect(died).toMatch(
      /^Error: the MCP server test ended during the call, or cannot be reached: .*it wrote: dying with \[key\]/,
    );
    const next = await ask(mcp, "pid");
    expect(next).toMatch(/^\d+$/);
    expect(next).not.toBe(pid);
  });

  test("that dies between calls, or several calls at once, is started again once", async () => {
    const mcp = await stdio();
    process.kill(Number(await ask(mcp, "pid")), "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 200));
    const pids = await Promise.all([ask(mcp, "pid"), ask(mcp, "pid"), ask(mcp, "pid")]);
    expect(new Set(pids).size).toBe(1);
    expect(pids[0]).toMatch(/^\d+$/);
  });

  test("that does nothing any more is ended, and started again", async () => {
    const mcp = await stdio({ timeoutMs: 1500 });
    const pid = await ask(mcp, "pid");
    expect(await ask(mcp, "block")).toBe("Error: block gave no answer within 1500 ms");
    const next = await ask(mcp, "pid");
    expect(next).toMatch(/^\d+$/);
    expect(next).not.toBe(pid);
  });

  test("sees none of this process's variables but the usual ones", async () => {
    process.env.RETROGRADE_TEST_KEY = "secret";
    const variables = (await ask(await stdio({}, { OWN: "1" }), "environment")).split(" ");
    delete process.env.RETROGRADE_TEST_KEY;
    expect(variables).toContain("PATH");
    expect(variables).toContain("OWN");
    expect(variables).not.toContain("RETROGRADE_TEST_KEY");
  });

  test("ends with close()", async () => {
    const mcp = await stdio();
    const pid = Number(await ask(mcp, "pid"));
    await mcp.close();
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
    expect(await ask(mcp, "pid")).toMatch(/^Error: MCP server test is "closed"/);
  });

  test("that does not start says why", async () => {
    await expect(stdio({ startMs: 0 })).rejects.toThrow(ConfigError);
    await expect(connect({ command: "no-such-program" })).rejects.toThrow(/MCP server test is "not there".*ENOENT/);
    const failing = connect({ command: process.execPath, args: ["-e", "console.error('bad port'); process.exit(1)"] });
    await expect(failing).rejects.toThrow(ToolError);
    await expect(failing).rejects.toThrow(/it wrote: bad port/);
    const missing = connect({ command: process.execPath, args: ["--input-type=module", "-e", 'import "not-installed"'] });
    await expect(missing).rejects.toThrow(/Cannot find package 'not-installed'/);
    const silent = connect({ command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"] }, { startMs: 300 });
    await expect(silent).rejects.toThrow(/not there/);
    const nonsense = connect(
      { command: process.execPath, args: ["-e", "console.log('hello'); setInterval(() => {}, 1000)"] },
      { startMs: 300 },
    );
    await expect(nonsense).rejects.toThrow(/not there/);
  });
});

/** A server in a few lines of plain JavaScript, which answers as it likes. `send` takes an object, `answer` a result. */
const scripted = (onCall: string, before = "") =>
  `let first; // handles a message before all others, if it returns true
  ${before}
  const send = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    const answer = (result) => send({ jsonrpc: "2.0", id, result });
    if (first?.({ id, method, params }, answer, send)) return;
    if (method === "initialize")
      answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
    else if (method === "ping") answer({});
    else if (method === "tools/list") answer({ tools: [{ name: "a", inputSchema: { type: "object" } }, { name: "pid", inputSchema: { type: "object" } }] });
    else if (method === "tools/call" && params.name === "pid") answer({ content: [{ type: "text", text: String(process.pid) }] });
    else if (method === "tools/call") { ${onCall} }
  });`;
const runScript = (onCall: string, before?: string, settings: McpSettings = {}) =>
  connect({ command: process.execPath, args: ["-e", scripted(onCall, before)] }, settings);

describe("a server that answers nonsense", () => {
  test.each([
    ["content that is no list", 'answer({ content: "hm" })'],
    ["an unknown kind of content", 'answer({ content: [{ type: "hologram" }] })'],
    ["no object", "answer(5)"],
  ])("is told of, and stays for others: %s", async (_, onCall) => {
    const mcp = await runScript(onCall, undefined, { timeoutMs: 1500 });
    const pid = await ask(mcp, "pid");
    expect(await ask(mcp, "a")).toMatch(
      /^Error: (the MCP server test answered with something else than a result|a gave no answer)/,
    );
    expect(await ask(mcp, "pid")).toBe(pid);
  });

  test("lines that are no messages, and answers to nobody, are passed over", async () => {
    const noise = 'process.stdout.write("debug: hello\\n"); send({ jsonrpc: "2.0", id: 999, result: {} });';
    const mcp = await runScript(`${noise} answer({ content: [{ type: "text", text: "a\\u0000\\ud800b" }] })`);
    expect(await ask(mcp, "a")).toBe("a\ufffd\ufffdb");
  });

  test("megabytes are cut, or end the call in words", async () => {
    const mcp = await runScript('answer({ content: [{ type: "text", text: "x".repeat(2e6) }] })');
    expect(await ask(mcp, "a")).toMatch(/^x{20000}\n\[cut: the first 20000 of 2000000 characters\]$/);
    const flood = await runScript('process.stdout.write("y".repeat(40e6))', undefined, { timeoutMs: 5000 });
    expect(await ask(flood, "a")).toMatch(/^Error: (the MCP server test ended|a gave no answer)/);
    expect(await ask(flood, "pid")).toMatch(/^\d+$/);
  });
});

/** Keeps a process from doing anything else, at no cost. */
const block = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);";
const log = 'console.log(JSON.stringify({ level: 30, msg: "working" }));';

describe("a server with a mind of its own", () => {
  test("that writes its log to its output stays, though it starts slowly and does nothing else in a call", async () => {
    const mcp = await runScript(`${log} ${block} answer({ content: [] });`, `${log} ${block}`);
    const pid = await ask(mcp, "pid");
    expect(await ask(mcp, "a")).toBe("");
    expect(await ask(mcp, "pid")).toBe(pid);
  });

  test("that does not know a ping is there", async () => {
    const refuse = "send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })";
    const mcp = await runScript("", `first = ({ id, method }, _, send) => method === "ping" && (${refuse}, true);`, {
      timeoutMs: 300,
    });
    const pid = await ask(mcp, "pid");
    expect((await outcome(mcp, "a")).failure).toBe("timeout");
    expect(await ask(mcp, "pid")).toBe(pid);
  });

  const listing = (tools: string, more = "") =>
    `let page = 0; first = ({ method }, answer) => method === "tools/list" && (page++, answer({ tools: ${tools} ${more} }), true);`;
  const schema = 'inputSchema: { type: "object" }';

  test("has its tools on several pages", async () => {
    const pages = listing(`[{ name: "t" + page, ${schema} }]`, ", nextCursor: page < 3 ? 'c' + page : undefined");
    const { tools } = await runScript("", pages);
    expect(tools.map(({ name }) => name)).toEqual(["t1", "t2", "t3"]);
  });

  test("whose list has no end is given up in time", async () => {
    const slowly = `first = ({ method }, answer) => method === "tools/list" && (setTimeout(() => answer({ tools: [], nextCursor: String(Math.random()) }), 100), true);`;
    const before = performance.now();
    await expect(runScript("", slowly, { startMs: 1000 })).rejects.toThrow(
      /expected a list of tools\. no answer within 1000 ms\. .*startMs/,
    );
    expect(performance.now() - before).toBeLessThan(6000 * slowdown());
  });

  test("has a schema without a type, or no schema: each is one of an object", async () => {
    const { tools } = await runScript(
      "",
      listing('[{ name: "a", inputSchema: { properties: { n: { type: "number" } }, required: ["n"] } }, { name: "b" }]'),
    );
    expect(tools.map(({ parameters }) => parameters)).toMatchObject([{ type: "object", required: ["n"] }, { type: "object" }]);
  });

  test("has a tool that runs as a task only: the tool is left out", async () => {
    const task = `{ name: "slow", ${schema}, execution: { taskSupport: "required" } }`;
    const { tools } = await runScript("", listing(`[{ name: "a", ${schema} }, ${task}]`));
    expect(tools.map(({ name }) => name)).toEqual(["a"]);
    await expect(runScript("", listing(`[${task}]`))).rejects.toThrow(/"without tools"/);
  });

  test("says other than its outputSchema promises: what it says is read, before and after it is started again", async () => {
    const promise = 'outputSchema: { type: "object", properties: { n: { $ref: "#/nowhere" } }, required: ["n"] }';
    const mcp = await runScript(
      'if (params.arguments.die) process.exit(1); answer({ content: [{ type: "text", text: "five" }], structuredContent: { n: "5" } });',
      listing(`[{ name: "a", ${schema}, ${promise} }]`),
    );
    expect(await ask(mcp, "a")).toBe("five");
    expect(await ask(mcp, "a", { die: true })).toMatch(/ended during the call/);
    expect(await ask(mcp, "a")).toBe("five");
  });

  test("refuses with megabytes: the message is short", async () => {
    const refusing =
      "first = ({ id }, _, send) => (send({ jsonrpc: '2.0', id, error: { code: -1, message: 'x'.repeat(2e6) } }), true);";
    const error: unknown = await runScript("", refusing).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ToolError);
    expect(String(error).length).toBeLessThan(5000);
  });
});

test("a call has the longest time that a timer can wait", async () => {
  const mcp = await stdio({ timeoutMs: 2 ** 31 - 1 });
  expect(await ask(mcp, "add", { a: 1 })).toBe("2");
});

test("a server that does not want to end is ended", async () => {
  const mcp = await runScript("", 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);');
  const pid = Number(await ask(mcp, "pid"));
  await mcp.close();
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(/ESRCH/), 60_000);
});

test("a name and password in an address, and its parameters, are in no message", async () => {
  const address = "http://ann:hidden-word@127.0.0.1:1/mcp?api_key=hidden-key-1";
  const error: unknown = await connectMcp({ url: address }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ToolError);
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("hidden");
});

describe("a server that is reached by HTTP", () => {
  test("that dies in a call is reported, and reached again when it is back", async () => {
    const { url, port, child } = await startHttp();
    const mcp = await connect({ url, headers });
    expect(await ask(mcp, "die")).toMatch(/^Error: the MCP server test ended during the call, or cannot be reached/);
    if (child.exitCode === null) await once(child, "exit");
    expect(await ask(mcp, "add", { a: 1 })).toMatch(/^Error: MCP server test is "not there".*ECONNREFUSED/);
    await startHttp(port);
    expect(await ask(mcp, "add", { a: 1 })).toBe("2");
  });

  test("that was restarted between calls does not know the session, and is connected again", async () => {
    const { url, port, child } = await startHttp();
    const mcp = await connect({ url, headers });
    child.kill("SIGKILL");
    await once(child, "exit");
    await startHttp(port);
    expect(await ask(mcp, "add", { a: 1 })).toBe("2");
  });

  test("answers with megabytes: the connection is ended, and the next call has another", async () => {
    const mcp = await connect({ url: (await startHttp()).url, headers });
    expect(await ask(mcp, "huge", { megabytes: 3 })).toMatch(/\[cut: the first 20000 of 3000000 characters\]$/);
    expect(await ask(mcp, "huge", { megabytes: 12 })).toMatch(/^Error: .* ended during the call.* more than 10485760 bytes/);
    expect(await ask(mcp, "add", { a: 1 })).toBe("2");
  });

  test("forgets a session that is closed", async () => {
    const server = { url: (await startHttp()).url, headers };
    const first = await connect(server);
    const second = await connect(server);
    expect(await ask(second, "sessions")).toBe("2");
    await first.close();
    expect(await ask(second, "sessions")).toBe("1");
  });

  test("that refuses does not learn the model our key", async () => {
    const { url } = await startHttp();
    const refused = connect({ url, headers: { authorization: "Bearer another-secret" } });
    await expect(refused).rejects.toThrow(/not there/);
    await expect(refused).rejects.not.toThrow(/another-secret/);
    await expect(connect({ url: "http://127.0.0.1:1/mcp" })).rejects.toThrow(/not there/);
  });
});
