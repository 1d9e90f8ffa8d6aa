import { existsSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { holderOf, newFile } from "./lock.fixture.ts";
import { takeLock, withLock } from "./lock.ts";

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
