import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hubCommit } from "../../test/hub-server.ts";
import { asks, digestOf, setUp, weights, weightsName } from "./model.fixture.ts";

function hubProcess(repo: string, env: NodeJS.ProcessEnv): ChildProcess {
  const program = join(import.meta.dirname, "../../test/hub-process.ts");
  return spawn(process.execPath, ["--import", "jiti/register", program, repo], { env, stdio: ["ignore", "pipe", "inherit"] });
}

async function finished(child: ChildProcess): Promise<{ code: number | null; lines: string[] }> {
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => (text += chunk));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, lines: text.trim().split("\n") };
}

test.skipIf(!existsSync("/dev/full"))("a disk that is full half way is named", async () => {
  const { hub, repo, fetch } = await setUp();
  mkdirSync(join(repo, "blobs"), { recursive: true });
  symlinkSync("/dev/full", join(repo, "blobs", `${await digestOf(hub, weightsName)}.incomplete`));
  await expect(fetch()).rejects.toThrow(/not written: the disk is full.*HF_HUB_CACHE/);
});

test("two processes that want the same model download it once", async () => {
  let goOn = () => {};
  const oneWaits = new Promise<undefined>((resolve) => {
    goOn = () => resolve(undefined);
  });
  const { hub, home } = await setUp({ trouble: ({ storage }) => (storage ? oneWaits : undefined) });
  const children = [0, 1].map(() => hubProcess(hub.repo, { PATH: process.env.PATH, HF_ENDPOINT: hub.endpoint, HF_HOME: home }));
  for (const { stdout } of children) stdout?.once("data", goOn); // the first that says something says that it waits
  const results = await Promise.all(children.map(finished));
  const folder = join(home, "hub", "models--tiny--letters", "snapshots", hubCommit);
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
  expect(results.map(({ lines }) => lines).sort((a, b) => a.length - b.length)).toEqual([[folder], ["waiting", folder]]);
  expect(readFileSync(join(folder, weightsName)).equals(weights)).toBe(true);
  const starts = hub.requests.filter(({ path, range, storage }) => storage && asks(path, weightsName) && range === undefined);
  expect(starts).toHaveLength(1);
});

test("a process that was killed while it downloaded is succeeded at once, from where it stopped", async () => {
  const { hub, home, repo, fetch } = await setUp({
    trouble: ({ storage }, number) =>
      storage && number === 1 ? { cutAfter: 2000 } : storage && number === 2 ? "hang" : undefined,
  });
  const child = hubProcess(hub.repo, { PATH: process.env.PATH, HF_ENDPOINT: hub.endpoint, HF_HOME: home });
  const ended = finished(child);
  while (!hub.requests.some(({ storage, range }) => storage && range !== undefined)) await new Promise((r) => setTimeout(r, 20));
  child.kill("SIGKILL");
  await ended;
  const lock = join(home, "hub/.locks/models--tiny--letters/retrograde.lock");
  expect(readFileSync(lock, "utf8").startsWith(`${child.pid} ${hostname()} `)).toBe(true);
  expect(readFileSync(join(await fetch(), weightsName)).equals(weights)).toBe(true);
  expect(existsSync(lock)).toBe(false);
  expect(hub.requests.filter(({ storage, range }) => storage && range === undefined)).toHaveLength(1);
  expect(readdirSync(join(repo, "blobs")).filter((name) => name.endsWith(".incomplete"))).toEqual([]);
});
