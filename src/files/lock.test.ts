import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { holderOf, newFile } from "./lock.fixture.ts";
import { isAlive, takeLock, withLock } from "./lock.ts";

test("a lock is held until it is released, also against its own process", () => {
  const file = newFile();
  const taken = takeLock(file);
  if (!("lock" in taken)) throw new Error("the lock of a new folder is taken");
  expect(holderOf(file)).toMatchObject({ pid: process.pid, host: hostname() });
  taken.lock.release();
  expect(existsSync(file)).toBe(false);
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

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
/** A process of this machine that is surely not there: numbers end far below. */
const noProcess = 999_999_999;

test("the lock of a process that has ended is taken over at once, also where another process has its number now", () => {
  const file = newFile();
  for (const text of [`${noProcess} ${hostname()} - x`, `${process.pid} ${hostname()} 1 x`]) {
    writeFileSync(file, text);
    const taken = takeLock(file);
    if (!("lock" in taken)) throw new Error(`taken by ${taken.holder.pid}`);
    expect(readFileSync(file, "utf8")).toMatch(new RegExp(`^${process.pid} `));
    taken.lock.release();
  }
  // Without a start time, as on other systems, a living process holds it.
  writeFileSync(file, `${process.pid} ${hostname()} - x`);
  expect(holderOf(file)).toEqual(expect.objectContaining({ pid: process.pid, host: hostname() }));
  expect(readdirSync(dirname(file))).toEqual([".lock"]); // no draft is left
});

test("a text that is no lock is one for five seconds; a lock of another machine for five minutes", () => {
  const file = newFile();
  for (const text of ["", "nobody", "-4 here", "0 here - x", "1.5 here - x"]) {
    writeFileSync(file, text);
    expect(holderOf(file), text).toBeDefined();
    utimesSync(file, minutesAgo(0.1), minutesAgo(0.1));
    expect(holderOf(file), text).toBeUndefined();
    rmSync(file, { force: true });
  }
  writeFileSync(file, "7 elsewhere - x");
  utimesSync(file, minutesAgo(4.9), minutesAgo(4.9));
  expect(holderOf(file)).toMatchObject({ pid: 7, host: "elsewhere" });
  utimesSync(file, minutesAgo(5.1), minutesAgo(5.1));
  expect(holderOf(file)).toBeUndefined();
});

test("two that see the same dead holder do not remove each other's lock: the claim of a dead one is removed first", () => {
  const file = newFile();
  const dead = `${noProcess} ${hostname()} - x`;
  writeFileSync(file, dead);
  writeFileSync(`${file}.takeover`, dead);
  expect("lock" in takeLock(file)).toBe(true);
  expect(readdirSync(dirname(file))).toEqual([".lock"]);
});

test("a lock that another process has taken over is not released", () => {
  const file = newFile();
  const taken = takeLock(file);
  writeFileSync(file, "1 elsewhere - x");
  if ("lock" in taken) taken.lock.release();
  expect(readFileSync(file, "utf8")).toBe("1 elsewhere - x");
  expect([isAlive(process.pid), isAlive(noProcess)]).toEqual([true, false]);
});

test("a lock is released where its work fails", async () => {
  const file = newFile();
  await expect(
    withLock(
      file,
      () => {},
      () => Promise.reject(new Error("it broke")),
    ),
  ).rejects.toThrow("it broke");
  expect(existsSync(file)).toBe(false);
});

test.each(["EPERM", "ENOTSUP", "ENOSYS"])("a file system without hard links (%s) has locks too", (code) => {
  const file = newFile();
  const link = () => {
    throw Object.assign(new Error(code), { code });
  };
  const taken = takeLock(file, link);
  if (!("lock" in taken)) throw new Error("the lock of a new folder is taken");
  expect(readFileSync(file, "utf8")).toMatch(new RegExp(`^${process.pid} ${hostname()} \\S+ [0-9a-f-]{36}$`));
  expect(takeLock(file, link)).toMatchObject({ holder: { pid: process.pid, host: hostname() } });
  expect(readdirSync(dirname(file))).toEqual([".lock"]);
  taken.lock.release();
  expect(existsSync(file)).toBe(false);
});

test("a link that fails for another reason is an error, and leaves nothing", () => {
  const file = newFile();
  const link = () => {
    throw Object.assign(new Error("EIO"), { code: "EIO" });
  };
  expect(() => takeLock(file, link)).toThrow("EIO");
  expect(readdirSync(dirname(file))).toEqual([]);
});
