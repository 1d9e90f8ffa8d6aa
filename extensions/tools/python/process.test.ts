import type { ChildProcess, SpawnOptions } from "node:child_process";
import { EventEmitter } from "node:events";
import { readdirSync } from "node:fs";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ToolError } from "../../../src/core/errors.ts";
import { guest } from "./image.ts";
import { type PythonProcess, startPython } from "./process.ts";
import { frameOf } from "./protocol.ts";
import type { Command, System } from "./system.ts";

/** A process that says what a test has it say. */
class Child extends EventEmitter {
  readonly pid = 7;
  readonly signals: string[] = [];
  /** Who keeps the program alive: the process, and three of its pipes. */
  readonly held = new Set<object>();
  readonly stdio = [null, null, ...[2, 3, 4].map(() => this.#holding(new PassThrough()))] as const;
  constructor() {
    super();
    this.#holding(this);
  }
  ref() {}
  unref() {}
  kill(signal: string) {
    this.signals.push(signal);
  }
  says(...messages: unknown[]) {
    this.stdio[4]?.write(Buffer.concat(messages.map(frameOf)));
  }
  /** The bytes of the requests. */
  asked(): Buffer | null {
    return this.stdio[3]?.read();
  }
  #holding<T extends object>(one: T): T {
    this.held.add(one);
    return Object.assign(one, { ref: () => void this.held.add(one), unref: () => void this.held.delete(one) });
  }
}

const megabyte = 2 ** 20;
const settings = { memoryBytes: 2 * megabyte, stderr: true };
const request = { continues: true, code: "1 + 1", timeoutMs: 1000, outputBytes: 10 };
const answer = { id: 0, kind: "", text: "", output: "2\n", droppedBytes: 0 };
let child: Child;
const spawns: { command: string; args: readonly string[]; options: SpawnOptions }[] = [];
/** Memory pages of the process: unknown where undefined. */
let pages: number | undefined;
let limited: Command[];
let refusal: Error | undefined;

const system = (platform: NodeJS.Platform): System => ({
  platform,
  home: "/home/ann",
  which: (program) => program,
  run: () => ({ status: 0, stdout: "", stderr: "" }),
  start: async (command) => {
    limited.push(command);
    if (refusal !== undefined) throw refusal;
    return "";
  },
  read: (file) => {
    if (file === "/proc/7/task/7/children") return "9 ";
    if (file === "/proc/9/statm" && pages !== undefined) return `1000 ${pages} 1`;
    throw new Error(file);
  },
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  spawns.length = 0;
  [child, pages, limited, refusal] = [new Child(), 100, [], undefined];
  return () => vi.useRealTimers();
});
afterEach(() => child.removeAllListeners());

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function spawning(): Promise<void> {
  while (spawns.length === 0) await turn();
}

function start({ platform = "linux", ...more }: { platform?: NodeJS.Platform; stderr?: boolean } = {}) {
  const starting = startPython({ ...settings, ...more }, "/main.mjs", {
    spawn: (command, args, options) => {
      spawns.push({ command, args, options });
      return child as unknown as ChildProcess;
    },
    openImage: async () => 55,
    system: system(platform),
  });
  starting.catch(() => {});
  return starting;
}

async function started(): Promise<PythonProcess> {
  const starting = start();
  await spawning();
  child.says({ ready: true });
  return starting;
}

test("the program runs apart, with its image, nothing of this environment, and the files of the guest", async () => {
  const starting = start({ platform: "win32" });
  await spawning();
  const flags = ["--expose-gc", "--no-warnings", "--max-old-space-size=128", "/main.mjs", "2097152"];
  expect(spawns[0]).toEqual({
    command: process.execPath,
    args: [...flags, "stderr"],
    options: {
      ...{ cwd: "/", env: {}, detached: true },
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe", 55],
    },
  });
  expect(child.held.size).toBe(4);
  child.says({ ready: true });
  expect((await starting).ended).toBe(false);
  expect(child.held.size).toBe(0);
  spawns.length = 0;
  child = new Child();
  void start({ platform: "win32", stderr: false });
  await spawning();
  expect(spawns[0]?.args).toEqual(flags);
  // Behind Linux's namespaces there are these files and no others.
  spawns.length = 0;
  void start();
  await spawning();
  const programs = readdirSync(guest).filter((name) => name.endsWith(".mjs"));
  const needed = spawns[0]?.args.find((each) => each.startsWith("setpriv\n"))?.split("\n");
  expect(needed).toEqual(["setpriv", process.execPath, "/main.mjs", ...programs.map((name) => `${guest}${name}`)]);
});

test("limits are those of the innermost process; one that cannot be limited is ended", async () => {
  await started();
  expect(limited.map((command) => command.slice(0, 2))).toEqual([["prlimit", "--pid=9"]]);
  expect(limited[0]?.at(-1)).toBe(`--data=${(384 + 4) * megabyte}`);
  expect(child.signals).toEqual([]);
  [child, refusal] = [new Child(), new Error("prlimit: Operation not permitted")];
  await expect(started()).rejects.toThrow(
    /python is "prlimit: Operation not permitted"; expected a process that the kernel limits/,
  );
  expect(child.signals).toEqual(["SIGKILL"]);
});

test.each<[string, () => void, RegExp]>([
  [
    "says something else",
    () => child.says({ ready: false }),
    /^python is "something that is no greeting"; expected an interpreter/,
  ],
  ["ends", () => child.emit("close", 3, null), /^python is "ended with code 3"; .*`retrograde-rl doctor` says what it needs\.$/],
  ["is ended", () => child.emit("close", null, "SIGKILL"), /^python is "ended with SIGKILL"/],
  ["is none", () => child.emit("error", new Error("spawn ENOENT")), /^python is "spawn ENOENT"/],
  [
    "is late",
    () => vi.advanceTimersByTime(60_000),
    /^python is "still starting after 60 s".*Fewer `interpreters` start at a time/,
  ],
])("a process that %s before its greeting is an error that says so", async (_, happen, message) => {
  const starting = start();
  await spawning();
  vi.advanceTimersByTime(59_999);
  expect(child.signals).toEqual([]);
  happen();
  await expect(starting).rejects.toThrow(ToolError);
  await expect(starting).rejects.toThrow(message);
  expect(child.signals[0]).toBe("SIGKILL");
  expect(vi.getTimerCount()).toBe(0);
});

test("the end of what a process wrote to its errors is in the message, its last thousand characters", async () => {
  const starting = start();
  await spawning();
  for (const part of ["begin", "x".repeat(1990), " no memory\n"]) child.stdio[2]?.write(part);
  await turn();
  child.emit("close", 1, null);
  await expect(starting).rejects.toMatchObject({ value: `ended with code 1: ${"x".repeat(989)} no memory` });
});

test("a request is sent and its answer taken, one after the other; the program is kept alive meanwhile", async () => {
  const python = await started();
  const asking = python.ask(request);
  expect(child.held.size).toBe(4);
  expect(child.asked()).toEqual(frameOf({ id: 0, ...request }));
  child.says(answer);
  expect(await asking).toEqual(answer);
  expect(child.held.size).toBe(0);
  const again = python.ask(request);
  expect(child.asked()).toEqual(frameOf({ id: 1, ...request }));
  child.says({ ...answer, id: 1 });
  expect(await again).toEqual({ ...answer, id: 1 });
  vi.advanceTimersByTime(10_000);
  expect([python.ended, child.signals]).toEqual([false, []]);
});

test.each<[string, () => void]>([
  ["with another id", () => child.says({ ...answer, id: 1 })],
  ["in another form", () => child.says({ ...answer, kind: "fine" })],
  ["longer than output and traceback can be", () => child.says({ ...answer, text: "x".repeat(131_100) })],
  ["of a process that ended", () => child.emit("close", 0, null)],
  ["that cannot be asked for", () => child.stdio[3]?.destroy(new Error("EPIPE"))],
])("without an answer, or with one %s, it crashed", async (_, happen) => {
  const python = await started();
  const asking = python.ask(request);
  happen();
  if (child.stdio[3]?.destroyed) child.emit("close", 1, null);
  expect(await asking).toBe("crash");
  expect([python.ended, child.signals]).toEqual([true, ["SIGKILL"]]);
  expect(await python.ask(request)).toBe("crash");
});

test("an answer that nobody asked for ends the process, before and between requests", async () => {
  const python = await started();
  child.says(answer);
  await turn();
  expect([python.ended, child.signals]).toEqual([true, ["SIGKILL"]]);
  spawns.length = 0;
  child = new Child();
  const other = await started();
  const asking = other.ask(request);
  child.says(answer, answer);
  expect(await asking).toEqual(answer);
  expect([other.ended, child.signals]).toEqual([true, ["SIGKILL"]]);
});

test("a request has half a second beyond its time", async () => {
  const python = await started();
  const asking = python.ask(request);
  vi.advanceTimersByTime(1499);
  expect(child.signals).toEqual([]);
  vi.advanceTimersByTime(1);
  expect([await asking, child.signals]).toEqual(["time", ["SIGKILL"]]);
});

test("memory is looked at every 50 ms: what it had at the start and one and a half times its limit is allowed", async () => {
  const python = await started();
  const asking = python.ask(request);
  const most = 100 + (1.5 * settings.memoryBytes) / 4096;
  pages = most;
  await vi.advanceTimersByTimeAsync(100);
  // One that cannot be seen now may be later.
  pages = undefined;
  await vi.advanceTimersByTimeAsync(49);
  pages = most + 1;
  expect(child.signals).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect([await asking, child.signals]).toEqual(["memory", ["SIGKILL"]]);
});

test("memory is not looked at between requests", async () => {
  const python = await started();
  const asking = python.ask(request);
  child.says(answer);
  await asking;
  pages = 10 ** 9;
  await vi.advanceTimersByTimeAsync(500);
  expect([python.ended, vi.getTimerCount()]).toEqual([false, 0]);
});
