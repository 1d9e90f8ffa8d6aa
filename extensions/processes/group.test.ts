import type { ChildProcess, SpawnOptions } from "node:child_process";
import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { killOpen, type Processes, startGroup } from "./group.ts";
import { survivorBy } from "./survivor.ts";

/** Processes by their numbers, each with its children. A signal of `deaf` ones has no effect. */
function systemOf(platform: NodeJS.Platform, children: Record<number, number[]> = {}, deaf: readonly string[] = []) {
  const child = Object.assign(new EventEmitter(), { pid: 7 as number | undefined });
  const log: unknown[] = [];
  const alive = new Set([7, ...Object.values(children).flat()]);
  const system: Processes = {
    platform,
    spawn: (command: string, args: readonly string[], options: SpawnOptions) => {
      log.push([command, args, options]);
      return child as unknown as ChildProcess;
    },
    fileOf: (command) => `${command}.cmd`,
    run: (command, args) => void log.push([command, ...args]),
    kill: (pid, signal) => {
      const known = alive.has(Math.abs(pid));
      if (signal !== 0 && known) log.push(`${signal} ${pid}`);
      if (signal !== 0 && !deaf.includes(signal)) alive.delete(Math.abs(pid));
      if (!known) throw new Error("ESRCH");
    },
    childrenOf: (pid) => {
      const found = children[pid];
      if (found === undefined) throw new Error("ENOENT");
      return found;
    },
    watchOver: (group) => {
      log.push(`watch ${group}`);
      return () => void log.push(`forget ${group}`);
    },
  };
  const group = () => startGroup("serve", ["a"], { cwd: "/x" }, system);
  return { child, log, system, group };
}

afterEach(() => {
  vi.useRealTimers();
  killOpen();
});

test("a program leads a group, which is watched over until it has ended", async () => {
  const { log, group, child } = systemOf("linux", { 7: [8, 9], 8: [10] });
  const { end, child: given } = group();
  expect(given).toBe(child);
  expect(log).toEqual([["serve", ["a"], { cwd: "/x", detached: true, windowsHide: true }], "watch 7"]);
  await end();
  expect(log.slice(2)).toEqual(["SIGTERM -7", "SIGTERM 8", "SIGTERM 10", "SIGTERM 9", "forget 7"]);
  // Once is enough.
  await end();
  expect(log).toHaveLength(7);
});

test("what does not end in its time is killed: after a second, or as long as is said", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  for (const [patience, milliseconds] of [
    [undefined, 1000],
    [200, 200],
  ] as const) {
    const { log, group } = systemOf("darwin", {}, ["SIGTERM"]);
    const ending = group().end(patience);
    await vi.advanceTimersByTimeAsync(milliseconds - 1);
    expect(log.slice(2)).toEqual(["SIGTERM -7"]);
    await vi.advanceTimersByTimeAsync(21);
    await ending;
    expect(log.slice(2)).toEqual(["SIGTERM -7", "SIGKILL -7", "forget 7"]);
  }
});

test("a child in another group is waited for as well", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  const { log, system } = systemOf("linux", { 7: [8] });
  const { kill } = system;
  const deaf: Processes = {
    ...system,
    kill: (pid, signal) => (pid === 8 && signal === "SIGTERM" ? undefined : kill(pid, signal)),
  };
  const ending = startGroup("serve", [], {}, deaf).end(100);
  await vi.advanceTimersByTimeAsync(200);
  await ending;
  // Its parent is gone by then, and its number kept.
  expect(log.slice(2)).toEqual(["SIGTERM -7", "SIGKILL 8", "forget 7"]);
});

test("a program that ended by itself takes what it left behind with it", async () => {
  const { log, group, child } = systemOf("linux", { 7: [8] });
  group();
  child.emit("exit", 0, null);
  await vi.waitFor(() => expect(log.at(-1)).toBe("forget 7"));
  expect(log.slice(2, -1)).toEqual(["SIGTERM -7", "SIGTERM 8"]);
});

test("all that is open is killed at the end of this process, and nothing twice", async () => {
  const [one, two] = [systemOf("linux"), systemOf("linux")];
  const ended = one.group();
  two.group();
  await ended.end();
  ended.kill();
  killOpen();
  expect([one.log.slice(2), two.log.slice(2)]).toEqual([["SIGTERM -7", "forget 7"], ["SIGKILL -7"]]);
});

test("a program that did not start has nothing to end", async () => {
  const { log, group, child } = systemOf("linux");
  child.pid = undefined;
  const { end, kill } = group();
  await end();
  kill();
  killOpen();
  expect(log).toHaveLength(1);
});

test("on Windows the tree is ended by taskkill", async () => {
  const { log, group } = systemOf("win32");
  const { end } = group();
  await end(0);
  const options = { cwd: "/x", detached: false, windowsHide: true };
  expect(log.slice(0, 2)).toEqual([
    ["serve", ["a"], options],
    ["taskkill", "/pid", "7", "/T", "/F"],
  ]);
});

test.each([
  ["C:\\bin\\serve.cmd", 'say "hi"', true],
  ["C:\\bin\\serve.cmd", "a & b", true],
  ["C:\\bin\\serve.CMD", 'say "hi" | more', false],
  ["C:\\bin\\serve.bat", "two\nlines", false],
  ["C:\\bin\\serve.cmd", "two\rlines", false],
  ["C:\\node_modules\\.bin\\serve.cmd", 'say "hi" | more', true],
  ["C:\\node_modules\\.bin\\serve.cmd", "two\nlines", false],
  ["C:\\node_modules\\.bin\\more\\serve.cmd", '"^"', false],
  ["C:\\bin\\serve.cmd.exe", 'say "hi" | more', true],
])("on Windows %s is given %j: %j", (file, arg, isPassable) => {
  const { log, system } = systemOf("win32");
  const start = () => startGroup("serve", ["a", arg], {}, { ...system, fileOf: () => file });
  if (isPassable) expect(start).not.toThrow();
  else {
    expect(start).toThrow(ConfigError);
    expect(start).toThrow(expect.objectContaining({ subject: `an argument of ${file}`, value: arg }));
    expect(log).toEqual([]);
  }
});

test("one shell watches over all groups: it reads their numbers, and is in no one's way", () => {
  const written: string[] = [];
  const stdin = Object.assign(new PassThrough(), { unref: vi.fn() });
  stdin.on("data", (part) => written.push(String(part)));
  const shell = Object.assign(new EventEmitter(), { stdin, unref: vi.fn() });
  const start = vi.fn((..._: Parameters<Processes["spawn"]>) => shell as unknown as ChildProcess);
  const watchOver = survivorBy(start);
  const forget = watchOver(7);
  watchOver(8);
  forget();
  expect(written).toEqual(["open 7\n", "open 8\n", "closed 7\n"]);
  expect(start.mock.calls).toEqual([
    [
      "/bin/sh",
      ["-c", expect.stringMatching(/\nwhile read -r what group; do\n[\s\S]*kill -TERM[\s\S]*kill -KILL -"\$each"; done$/)],
      { cwd: "/", env: {}, detached: true, stdio: ["pipe", "ignore", "ignore"] },
    ],
  ]);
  expect([shell.unref.mock.calls.length, stdin.unref.mock.calls.length]).toEqual([1, 1]);
  // Without a shell, nothing is thrown.
  expect(shell.emit("error", new Error("ENOENT"))).toBe(true);
  expect(stdin.emit("error", new Error("EPIPE"))).toBe(true);
});
