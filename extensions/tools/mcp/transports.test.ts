import type { ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { STDIO_DEFAULT_MAX_BUFFER_SIZE, type Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import { afterEach, expect, test, vi } from "vitest";
import "../../../test/loopback.ts";
import type { startGroup } from "../../processes/group.ts";
import { servedTools } from "./served-tools.ts";
import { mcpSettings } from "./settings.ts";
import { boundedFetch, pipesTo, type StartedServer } from "./transports.ts";

afterEach(() => void vi.useRealTimers());

/** A program that has been started, or not yet. */
function programOf({ spawns = true, endsWithInput = true } = {}) {
  const pipes = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const child = Object.assign(new EventEmitter(), { ...pipes, exitCode: null as number | null, signalCode: null });
  const log: unknown[] = [];
  const exit = () => {
    if (child.exitCode !== null) return;
    child.exitCode = 0;
    child.emit("exit", 0, null);
    child.emit("close", 0, null);
  };
  if (endsWithInput) child.stdin.once("finish", exit);
  const start: typeof startGroup = (command, args, options) => {
    log.push([command, args, options]);
    if (spawns) setImmediate(() => child.emit("spawn"));
    const end = async (patience?: number) => {
      log.push(`end ${patience}`);
      exit();
    };
    return { child: child as unknown as ChildProcess, end, kill: () => {} };
  };
  return { child, log, start, exit, says: (text: string | Buffer) => void child.stdout.write(text) };
}
type Program = ReturnType<typeof programOf>;

/** A transport, and what it calls back. */
function transportTo({ start }: Program, server: StartedServer = { command: "serve" }) {
  const heard: unknown[] = [];
  const transport: Transport = pipesTo(server, (text) => heard.push({ stderr: text }), start);
  transport.onmessage = (message) => heard.push(message);
  transport.onerror = (error) => heard.push(error.message);
  transport.onclose = () => heard.push("closed");
  return { transport, heard };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
const message = (id: number) => ({ jsonrpc: "2.0" as const, id, method: "ping" });

test("a server is started with the usual variables and its own", async () => {
  const program = programOf();
  await transportTo(program, { command: "serve", args: ["a"], env: { A: "b" }, cwd: "/x" }).transport.start();
  expect(program.log).toEqual([["serve", ["a"], { env: { ...getDefaultEnvironment(), A: "b" }, cwd: "/x", stdio: "pipe" }]]);
  const plain = programOf();
  await transportTo(plain).transport.start();
  expect(plain.log).toEqual([["serve", [], { env: getDefaultEnvironment(), cwd: undefined, stdio: "pipe" }]]);
});

test("one that does not start is an error", async () => {
  const program = programOf({ spawns: false });
  const { transport, heard } = transportTo(program);
  const starting = transport.start();
  program.child.emit("error", new Error("ENOENT"));
  await expect(starting).rejects.toThrow("ENOENT");
  expect(heard).toEqual(["ENOENT"]);
});

test("messages are lines; what is no JSON is passed over, and what is no message is an error", async () => {
  const program = programOf();
  const { transport, heard } = transportTo(program);
  await expect(transport.send(message(0))).rejects.toThrow("the server has ended");
  await transport.start();
  program.says(`starting…\n${JSON.stringify(message(1))}\n{"jsonrpc":"2.0"`);
  await turn();
  expect(heard).toEqual([message(1)]);
  program.says(`,"id":2,"method":"ping"}\n{"id":3}\n${JSON.stringify(message(4))}\n`);
  program.child.stderr.write("a warning");
  await turn();
  expect(heard.filter((each) => typeof each === "object")).toEqual([message(1), message(2), message(4), { stderr: "a warning" }]);
  expect(heard.filter((each) => typeof each === "string")).toHaveLength(1);
  await transport.send(message(5));
  expect(String(program.child.stdin.read())).toBe(`${JSON.stringify(message(5))}\n`);
});

test("pipes that break are errors of the transport, and of what is sent through them", async () => {
  const program = programOf();
  const { transport, heard } = transportTo(program);
  await transport.start();
  vi.spyOn(program.child.stdin, "write").mockImplementationOnce((_: unknown, done: unknown) => {
    (done as (error: Error) => void)(new Error("EPIPE"));
    return false;
  });
  await expect(transport.send(message(1))).rejects.toThrow("EPIPE");
  for (const pipe of ["stdin", "stdout", "stderr"] as const) program.child[pipe].emit("error", new Error(pipe));
  expect(heard).toEqual(["stdin", "stdout", "stderr"]);
  program.exit();
  expect(heard.at(-1)).toBe("closed");
  program.child.stdin.end();
  await expect(transport.send(message(2))).rejects.toThrow("the server has ended");
});

test("a message larger than any ends the server", async () => {
  const program = programOf();
  const { transport, heard } = transportTo(program);
  await transport.start();
  program.says(Buffer.alloc(STDIO_DEFAULT_MAX_BUFFER_SIZE + 1, "x"));
  await vi.waitFor(() => expect(program.log.at(-1)).toBe("end 2000"));
  expect(heard.at(0)).toMatch(/buffer|exceed|size/i);
});

test("a server ends with its input, and is ended where it does not within two seconds", async () => {
  const [polite, stubborn, gone] = [programOf(), programOf({ endsWithInput: false }), programOf()];
  const transports = [polite, stubborn, gone].map((program) => transportTo(program).transport);
  await transportTo(polite).transport.close();
  await Promise.all(transports.map((transport) => transport.start()));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  gone.exit();
  await Promise.all([transports[0]?.close(), transports[2]?.close()]);
  for (const { log } of [polite, gone]) expect(log.slice(1)).toEqual(["end 2000"]);
  const [exited] = [once(stubborn.child, "exit")];
  void transports[1]?.close();
  await turn();
  expect([stubborn.child.stdin.writableEnded, stubborn.log.length]).toEqual([true, 1]);
  vi.useRealTimers();
  stubborn.exit();
  await exited;
  await vi.waitFor(() => expect(stubborn.log.slice(1)).toEqual(["end 2000"]));
});

// ---- answers over HTTP

async function answered(type: string, parts: readonly string[], most: number, method = "GET") {
  const server = createServer((_, response: ServerResponse) => {
    response.writeHead(200, { "content-type": type });
    for (const part of parts) response.write(part);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const floods: string[] = [];
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    const response = await boundedFetch((error) => floods.push(error.message), most)(url, { method });
    const text = await response.text().catch((error: Error) => error);
    return { text, floods, status: response.status };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("an answer breaks off where one message is larger than any that is read", async () => {
  const json = "application/json";
  expect(await answered(json, ["0123456789"], 10)).toEqual({ text: "0123456789", floods: [], status: 200 });
  expect(await answered(json, ["0123456789", "0"], 10)).toEqual({
    ...{ text: expect.any(Error), floods: ["a message of more than 10 bytes"], status: 200 },
  });
  // An empty line ends no message of JSON.
  expect((await answered(json, ["01234\n\n", "56789"], 10)).floods).toHaveLength(1);
  expect(await answered(json, [], 10, "HEAD")).toEqual({ text: "", floods: [], status: 200 });
});

test.each([["\n\n"], ["\r\n\r\n"]])("in a stream of events each counts by itself, where one ends in %j", async (empty) => {
  const stream = "text/event-stream; charset=utf-8";
  const event = `data: 01${empty}`;
  const most = event.length + 2;
  expect((await answered(stream, [event, event, event], most)).floods).toEqual([]);
  // The beginning of the next one counts to it.
  expect((await answered(stream, [`${event}da`, `ta: 012345${empty}`], most)).floods).toHaveLength(1);
  expect((await answered(stream, ["data: 01\n", "data: 01234567\n"], most)).floods).toHaveLength(1);
});

// ---- a started server, as its tools see it

/** Answers requests as an MCP server does, but for those that are answered otherwise: undefined for no answer. */
function speaks(program: Program, other: (method: string, params: Record<string, unknown>) => object | "usual" | undefined) {
  program.child.stdin.on("data", (chunk: Buffer) => {
    for (const line of String(chunk).split("\n").filter(Boolean)) {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) continue;
      const usual: Record<string, object> = {
        initialize: {
          ...{ protocolVersion: params?.protocolVersion, capabilities: { tools: {} } },
          serverInfo: { name: "s", version: "1" },
        },
        "tools/list": { tools: [{ name: "add" }, { name: "typed", inputSchema: { properties: { a: {} } } }] },
        "tools/call": { content: [{ type: "text", text: "5" }] },
        ping: {},
      };
      const own = other(method, params);
      if (own !== undefined)
        program.says(`${JSON.stringify({ jsonrpc: "2.0", id, result: own === "usual" ? usual[method] : own })}\n`);
    }
  });
}
const settings = (changes: object = {}) => mcpSettings.parse({ name: "test", ...changes });
const { signal } = new AbortController();

test("a tool without a type of its arguments is taken as one with an object of them", async () => {
  const program = programOf();
  speaks(program, () => "usual");
  const { tools, close } = await servedTools({ command: "serve" }, settings(), program.start);
  expect(tools.map(({ name, parameters }) => [name, parameters])).toEqual([
    ["add", { type: "object" }],
    ["typed", { type: "object", properties: { a: {} } }],
  ]);
  expect(await tools[0]?.execute({}, { signal })).toBe("5");
  await close();
  expect(program.log.at(-1)).toBe("end 2000");
  await expect(async () => tools[0]?.execute({}, { signal })).rejects.toThrow(/MCP server test is "closed"/);
});

test("a server that ends in a call is reported with what it wrote, without keys, and started again", async () => {
  const programs = [programOf(), programOf()];
  const [first, second] = programs;
  speaks(first, (method) => {
    if (method !== "tools/call") return "usual";
    first.child.stderr.write(`${"x".repeat(600)} it broke at a-long-secret`);
    setImmediate(first.exit);
    return undefined;
  });
  speaks(second, () => "usual");
  const started = [...programs];
  const server = { command: "serve", env: { KEY: "a-long-secret", MODE: "1" } };
  const { tools, close } = await servedTools(server, settings(), (...given) => (started.shift() ?? first).start(...given));
  await expect(async () => tools[0]?.execute({}, { signal })).rejects.toThrow(
    /^the MCP server test ended during the call, or cannot be reached: .*\(it wrote: x{474} it broke at \[key\]\)$/,
  );
  expect(await tools[0]?.execute({}, { signal })).toBe("5");
  await close();
});

test("a call that is late is given up; a server that answers a ping stays, and one that does not is ended", async () => {
  const program = programOf();
  let silent = false;
  const asked: string[] = [];
  speaks(program, (method) => {
    asked.push(method);
    return method === "tools/call" || silent ? undefined : "usual";
  });
  const { tools } = await servedTools({ command: "serve" }, settings({ timeoutMs: 20 }), program.start);
  const call = async () => tools[0]?.execute({}, { signal });
  const count = (of: string) => asked.filter((method) => method === of).length;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const both = [call(), call()].map((each) => each.catch((error: Error) => error.message));
  while (count("tools/call") < 2) await turn();
  vi.advanceTimersByTime(20);
  expect(await Promise.all(both)).toEqual(["no answer within 20 ms", "no answer within 20 ms"]);
  // Both waited for one answer.
  expect(count("ping")).toBe(1);
  expect(program.log).toHaveLength(1);
  silent = true;
  const late = call().catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(20);
  expect(program.log).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect([await late, program.log.at(-1)]).toEqual(["no answer within 20 ms", "end 2000"]);
});

test("a server that does not start says why: the end of its error stream, and why it may be late", async () => {
  const program = programOf({ spawns: false });
  const { start, child } = program;
  const failing: Program["start"] = (...given) => {
    setImmediate(() => {
      child.stderr.write(`begin${"x".repeat(2100)}no module`);
      setImmediate(() => child.emit("error", new Error("spawn serve ENOENT")));
    });
    return start(...given);
  };
  const refused = await servedTools({ command: "serve" }, settings({ name: undefined }), failing).catch((error) => error);
  expect(refused).toMatchObject({
    ...{ subject: "MCP server serve", value: "not there", expected: "a server that starts and answers" },
    hint: `spawn serve ENOENT (it wrote: ${"x".repeat(1991)}no module)`,
  });
  const silent = programOf();
  await expect(servedTools({ command: "serve" }, settings({ startMs: 20 }), silent.start)).rejects.toMatchObject({
    hint: "no answer within 20 ms. npx and uvx install before they start it: startMs gives it longer.",
  });
});

test("what broke a connection is said once, beside what ended the call", async () => {
  const program = programOf();
  speaks(program, (method) => {
    if (method !== "tools/call") return "usual";
    program.child.stdin.emit("error", new Error("the pipe broke"));
    // A line that is no message is of no account.
    program.says('{"id":3}\n');
    setImmediate(() => setImmediate(program.exit));
    return undefined;
  });
  const { tools } = await servedTools({ command: "serve" }, settings(), program.start);
  const error = await (async () => tools[0]?.execute({}, { signal }))().catch((thrown: Error) => thrown.message);
  expect(error).toMatch(/^the MCP server test ended during the call, or cannot be reached: .*: the pipe broke$/);
});

test("one server is started for all who ask at once, and another for who asks after it ended", async () => {
  const programs = [programOf(), programOf()];
  for (const program of programs) speaks(program, () => "usual");
  let starts = 0;
  const start: typeof startGroup = (...given) => (programs[starts++] ?? programOf()).start(...given);
  const { tools, close } = await servedTools({ command: "serve" }, settings(), start);
  const call = async () => tools[0]?.execute({}, { signal });
  expect([await Promise.all([call(), call()]), starts]).toEqual([["5", "5"], 1]);
  programs[0]?.exit();
  expect([await Promise.all([call(), call()]), starts]).toEqual([["5", "5"], 2]);
  await close();
  await close();
});

test("a server without tools, or whose list does not come, is ended", async () => {
  for (const [list, value] of [
    [{ tools: [] }, "without tools"],
    [{ tools: [{ name: "t", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }] }, "without tools"],
    [{ tools: "none" }, "not there"],
  ] as const) {
    const program = programOf();
    speaks(program, (method) => (method === "tools/list" ? list : "usual"));
    await expect(servedTools({ command: "serve" }, settings(), program.start)).rejects.toMatchObject({ value });
    expect(program.log.at(-1)).toBe("end 2000");
  }
});
