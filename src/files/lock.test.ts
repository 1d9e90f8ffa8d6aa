import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { takeLock, withLock } from "./lock.ts";

const newFile = () => join(mkdtempSync(join(tmpdir(), "retrograde-lock-")), ".lock");
const holderOf = (file: string) => {
  const taken = takeLock(file);
  return "holder" in taken ? taken.holder : undefined;
};

test("a lock is held until it is released, also against its own process", () => {
  const file = newFile();
  const taken = takeLock(file);
  if (!("lock" in taken)) throw new Error("the lock of a new folder is taken");
  expect(holderOf(file)).toMatchObject({ pid: process.pid, host: hostname() });
  taken.lock.release();
  expect(existsSync(file)).toBe(false);
  expect(holderOf(file)).toBeUndefined();
});

test("the lock of a process that lives is refused, and taken over once it was killed", async () => {
  const file = newFile();
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  const ended = new Promise((resolve) => child.on("close", resolve));
  writeFileSync(file, `${child.pid} ${hostname()} - x`);
  expect(holderOf(file)).toMatchObject({ pid: child.pid });
  child.kill("SIGKILL");
  await ended;
  expect(holderOf(file)).toBeUndefined();
  expect(readFileSync(file, "utf8")).toMatch(new RegExp(`^${process.pid} `));
  expect(readdirSync(join(file, ".."))).toEqual([".lock"]);
});

// Only Linux says when a process started.
test.runIf(existsSync("/proc/self/stat"))("a process that has the number of a dead holder does not hold its lock", () => {
  const file = newFile();
  writeFileSync(file, `${process.pid} ${hostname()} 1 x`);
  expect(holderOf(file)).toBeUndefined();
});

test("the lock of another machine is kept while it gives signs of life", () => {
  const file = newFile();
  writeFileSync(file, "1 elsewhere - x");
  expect(holderOf(file)).toMatchObject({ pid: 1, host: "elsewhere" });
  const longAgo = new Date(Date.now() - 10 * 60_000);
  utimesSync(file, longAgo, longAgo);
  expect(holderOf(file)).toBeUndefined();
});

test("of many processes that find a dead holder's lock, one gets it", { timeout: 60_000 }, async () => {
  const file = newFile();
  const dead = spawnSync(process.execPath, ["-e", ""]).pid;
  writeFileSync(file, `${dead} ${hostname()} - x`);
  const program = join(import.meta.dirname, "lock-process.fixture.ts");
  const outputs = await Promise.all(
    Array.from({ length: 4 }, () => {
      const child = spawn(process.execPath, ["--import", "jiti/register", program, file]);
      return new Promise<string>((resolve) => child.stdout.once("data", (data: Buffer) => resolve(data.toString().trim())));
    }),
  );
  expect(outputs.toSorted()).toEqual(["refused", "refused", "refused", "taken"]);
});

test("work under one lock is done one after the other", async () => {
  const file = newFile();
  const order: string[] = [];
  let waited = 0;
  const work = (name: string) =>
    withLock(
      file,
      () => waited++,
      async () => {
        order.push(`${name} starts`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(`${name} ends`);
      },
    );
  await Promise.all([work("a"), work("b")]);
  expect(order).toEqual(["a starts", "a ends", "b starts", "b ends"]);
  expect(waited).toBe(1);
});
