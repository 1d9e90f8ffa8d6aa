import { EventEmitter } from "node:events";
import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import "../../test/loopback.ts";
import type { Group, startGroup } from "../../extensions/processes/group.ts";
import { WorldPool } from "./pool.ts";
import { serverProgram, WorldProcess } from "./process.ts";

interface Started {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: Parameters<typeof startGroup>[2];
  readonly say: (text: string) => void;
  readonly exit: (code: number | null, signal?: string | null) => void;
  ends: number;
}

/** Programs that a test plays: each serves a world at the port that it was given. @param serve false: it never answers */
function programs({ serve = true, token = undefined as string | undefined, refuses = 0 } = {}) {
  const started: Started[] = [];
  let left = refuses;
  const start = (command: string, args: readonly string[], options: Parameters<typeof startGroup>[2]) => {
    const child = Object.assign(new EventEmitter(), {
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr: new PassThrough(),
    });
    const [port, own] = args.slice(-2);
    let server: Server | undefined;
    if (serve)
      server = createServer(async (request, response) => {
        for await (const _ of request);
        const answer = (value: unknown) => response.end(JSON.stringify(value));
        if (request.url === "/retrograde") return void answer({ token: token ?? own });
        if (request.url === "/initialize" && left-- > 0) return void response.writeHead(500).end("Internal Server Error");
        if (request.url === "/initialize") return void answer({ output: { task_id: "t" } });
        if (request.url === "/task_completed") return void answer({ output: false });
        return void answer({ output: `at ${port}` });
      }).listen(Number(port), "127.0.0.1");
    let over = false;
    const exit = (code: number | null, signal: string | null = null) => {
      if (over) return;
      over = true;
      server?.closeAllConnections();
      server?.close();
      child.emit("close", code, signal);
    };
    const entry: Started = { command, args, options, say: (text) => child.stderr.write(text), exit, ends: 0 };
    started.push(entry);
    const end = async (patience?: number) => {
      entry.ends++;
      expect(patience).toBe(3000);
      exit(null, "SIGTERM");
    };
    return { child, end, kill: () => exit(null, "SIGKILL") } as unknown as Group;
  };
  return { started, start };
}

const options = { python: "py", root: "/root", startTimeoutMs: 2000, timeoutMs: 2000 };
const soon = () => new Promise((resolve) => setImmediate(resolve));

test("a server is started with its port and a token, in the data's folder, without the keys of this process", async () => {
  const { started, start } = programs();
  process.env.APPWORLD_TEST_KEY = "secret";
  const server = await WorldProcess.start({ ...options, port: 21_500, startProgram: start });
  delete process.env.APPWORLD_TEST_KEY;
  const [{ command, args, options: given } = started[0] as Started] = started;
  expect([command, args.slice(0, 4)]).toEqual(["py", ["-u", "-c", serverProgram, "21500"]]);
  expect(args[4]).toMatch(/^[0-9a-f-]{36}$/);
  expect(given).toMatchObject({
    cwd: "/root",
    stdio: ["pipe", "pipe", "pipe"],
    env: { APPWORLD_ROOT: "/root", PATH: process.env.PATH },
  });
  const names = Object.keys(given?.env ?? {});
  const allowed = ["PATH", "HOME", "LANG", "LC_ALL", "APPWORLD_CACHE", "SYSTEMROOT", "TMPDIR", "APPWORLD_ROOT"];
  expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
  expect(Object.values(given?.env ?? {})).not.toContain(undefined);
  expect([server.client.url, server.alive, server.reason()]).toEqual(["http://127.0.0.1:21500", true, ""]);
  await server.stop();
  await server.stop();
  expect([server.alive, started[0]?.ends, server.reason()]).toEqual([false, 1, "the process ended by signal SIGTERM"]);
});

test("the reason of a failure is the last error of the log, else its last line, and how the process ended", async () => {
  const { started, start } = programs();
  const server = await WorldProcess.start({ ...options, startProgram: start });
  const [program] = started;
  program?.say("starting\n\n");
  await soon();
  expect(server.reason()).toBe("starting");
  program?.say("Traceback (most recent call last):\nValueError: first\nfoo.BarError: the clock is stopped\n  at the end\n");
  await soon();
  expect(server.reason()).toBe("foo.BarError: the clock is stopped");
  program?.say(`KeyError: ${"x".repeat(600)}\n`);
  await soon();
  expect(server.reason()).toHaveLength(500);
  program?.say(`${"y".repeat(9000)}\nlast`);
  await soon();
  program?.exit(3);
  expect(server.reason()).toBe("the process ended by exit code 3: last");
  await server.stop();
  expect(program?.ends).toBe(0);
});

test("a server that ends, is silent, or is another one is stopped, and the error says what to look at", async () => {
  const failing = async (of: Parameters<typeof programs>[0], play: (program: Started) => void, more: object = {}) => {
    const { started, start } = programs(of);
    const starting = WorldProcess.start({ ...options, ...more, startProgram: start });
    const error = starting.catch((each: Error) => each);
    while (started.length === 0) await soon();
    play(started[0] as Started);
    return { error: (await error) as Error, program: started[0] as Started };
  };
  const hint = "`npm run research -- doctor --env appworld` says what is missing.";
  const ended = await failing({ serve: false }, (program) => {
    program.say("ModuleNotFoundError: No module named 'appworld'\n");
    setImmediate(() => program.exit(1));
  });
  expect(ended.error.message).toBe(
    `an AppWorld server is "the process ended by exit code 1: ModuleNotFoundError: No module named 'appworld'"; expected one that answers. ${hint}`,
  );
  const silent = await failing({ serve: false }, () => {}, { startTimeoutMs: 50 });
  expect(silent.error.message).toBe(`an AppWorld server is "silent for 50 ms"; expected one that answers. ${hint}`);
  expect(silent.program.ends).toBe(1);
  const other = await failing({ token: "another" }, () => {}, { port: 21_600 });
  expect(other.error.message).toBe(
    'port of an AppWorld server is "http://127.0.0.1:21600"; expected a free port. Another server answers there: ' +
      "choose other ports with environment.settings.port, or leave it out.",
  );
  expect(other.program.ends).toBe(1);
  const stopped = AbortSignal.abort(new Error("stopped"));
  await expect(WorldProcess.start({ ...options, startProgram: programs().start }, stopped)).rejects.toThrow("stopped");
});

test("a pool starts a server when it is first needed, again after it ended, and removes what it wrote", async () => {
  const root = mkdtempSync(join(tmpdir(), "appworld-pool-"));
  const { started, start } = programs();
  const pool = new WorldPool({ ...options, root, servers: 2, urls: undefined, port: 21_700, startProgram: start });
  expect([pool.size, started.length]).toEqual([2, 0]);
  const [first, second] = [await pool.world("t"), await pool.world("t")];
  expect(await Promise.all([first.execute("x"), second.execute("x")])).toEqual(["at 21700", "at 21701"]);
  await pool.open(); // the first server runs already
  expect(started).toHaveLength(2);
  const outputs = join(root, "experiments", "outputs", `retrograde-${process.pid}-0`);
  mkdirSync(outputs, { recursive: true });
  started[0]?.exit(9);
  await expect(first.execute("x")).rejects.toThrow(/an AppWorld server is .*\(the process ended by exit code 9\)/);
  first.release();
  const again = await pool.world("t");
  expect(started.map(({ args }) => args[3])).toEqual(["21700", "21701", "21700"]);
  expect(await again.execute("x")).toBe("at 21700");
  await pool.close();
  expect(started.map(({ ends }) => ends)).toEqual([0, 1, 1]);
  expect(existsSync(outputs)).toBe(false);
  await expect(again.execute("x")).rejects.toThrow('the pool of AppWorld servers is "closed"; expected an open one.');
});

test("a world that does not open is tried once more on a fresh server, and then is the environment's error", async () => {
  const once = programs({ refuses: 1 });
  const root = mkdtempSync(join(tmpdir(), "appworld-pool-"));
  const of = (start: typeof once.start) =>
    new WorldPool({ ...options, root, servers: 1, urls: undefined, port: undefined, startProgram: start });
  const pool = of(once.start);
  await pool.world("t");
  expect(once.started.map(({ ends }) => ends)).toEqual([1, 0]);
  await pool.close();
  const never = programs({ refuses: 9 });
  const broken = of(never.start);
  await expect(broken.world("t")).rejects.toThrow(/the world of t is .*answered 500 Internal Server Error/);
  expect(never.started).toHaveLength(2);
  await broken.close();
});
