import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { holderOf, newFile } from "./lock.fixture.ts";

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

test("of many processes that find a dead holder's lock, one gets it", async () => {
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
