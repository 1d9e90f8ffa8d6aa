import { existsSync, readFileSync } from "node:fs";
import { url } from "node:inspector";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { slowdown } from "../../../test/slowdown.ts";
import { watchPeak } from "./descendants.fixture.ts";
import { type PythonProcess, startPython } from "./process.ts";
import { createPython } from "./python.ts";
import { openSurroundings } from "./surroundings.fixture.ts";
import { walls } from "./walls.ts";

/*
 * What is asserted is an effect on this machine or this process: that the attacker's program was told "no" shows nothing.
 */

const program = join(import.meta.dirname, "../../../test/fixtures/python/hostile.mjs");
const megabyte = 2 ** 20;
const { secret, written, removed, port, free, visits, victim, listens, close } = await openSurroundings();
const where = { secret, written, removed, port: String(port), free: String(free), victim: String(victim.pid) };
let hostile: PythonProcess | undefined;

afterEach(() => hostile?.kill());
afterAll(close);

async function does(deed: string, { timeoutMs = 2000, memoryBytes = 128 * megabyte } = {}) {
  hostile = await startPython({ memoryBytes, stderr: true }, program);
  const started = performance.now();
  const answer = await hostile.ask({
    continues: false,
    code: `${deed} ${JSON.stringify(where)}`,
    timeoutMs,
    outputBytes: 1000,
  });
  return { answer, milliseconds: performance.now() - started };
}

const holds = (name: string) => walls().some((wall) => wall.name === name && wall.holds);

describe.skipIf(!holds("namespaces") && !holds("profile"))("a program that broke out of WebAssembly", () => {
  test.each(["read", "write", "remove", "image", "signal", "debug", "start", "connect"])("to %s has no effect", async (deed) => {
    const { answer } = await does(deed);
    const output = typeof answer === "string" ? "" : answer.output;
    expect(output).not.toContain("hidden value");
    expect(existsSync(written)).toBe(false);
    expect(readFileSync(removed, "utf8")).toBe("still here");
    expect(visits).toEqual([]);
    expect([victim.exitCode, victim.signalCode]).toEqual([null, null]);
    expect(url()).toBeUndefined();
  });

  test("listens on no port of this machine", async () => {
    const deed = does("listen");
    const seen = [];
    for (let i = 0; i < 20; i++) {
      seen.push(await listens());
      await sleep(50);
    }
    await deed;
    expect(seen).not.toContain(true);
  });

  test.runIf(holds("namespaces"))("finds none of this machine's files", async () => {
    const { answer } = await does("look");
    expect(typeof answer === "string" ? answer : answer.output).toBe("");
  });
});

describe("limits hold from outside", () => {
  test.each(["memory", "memoryWithoutDescriptors"])("%s: the process is ended at its limit", async (deed) => {
    const peak = watchPeak();
    const { answer } = await does(deed, { timeoutMs: 20_000 });
    // Either this process saw it, or the kernel gave no more.
    expect(["memory", "crash"]).toContain(answer);
    expect(peak()).toBeLessThan(128 * megabyte * 3 + 150 * megabyte);
    await expectGone();
  });

  test("code that takes every descriptor, then memory, ends at its memory", async () => {
    const python = createPython({ memoryMb: 256, timeoutMs: 30_000 });
    const peak = watchPeak();
    const descriptors = "import os\ntry:\n  while True: os.dup(1)\nexcept OSError as full: print(full)\n";
    const { output, error } = await python.run(`${descriptors}kept = []\nwhile True: kept.append(bytearray(10**6))`);
    python.close();
    expect([output, error]).toEqual(["[Errno 33] No file descriptors available\n", "Error: more than 256 MB of memory."]);
    expect(peak()).toBeGreaterThan(200 * megabyte);
    expect(peak()).toBeLessThan((256 + 150) * megabyte);
  });

  test("time: a program that spins is ended half a second after its time", async () => {
    const { answer, milliseconds } = await does("spin", { timeoutMs: 300 });
    expect(answer).toBe("time");
    expect(milliseconds).toBeLessThan(5000 * slowdown());
    await expectGone();
  });
});

describe("frames of any size and shape", () => {
  const deeds = ["hugeFrame", "longFrame", "manyFrames", "emptyFrames", "deep", "noJson", "otherId", "proto", "fields", "half"];
  test.each(deeds)("%s ends that process and costs this one nothing", async (deed) => {
    const before = process.memoryUsage().rss;
    const { answer } = await does(deed);
    if (typeof answer === "string") expect(["crash", "time"]).toContain(answer);
    // An answer of the right shape is one: what it says is the session's own.
    else expect(answer.output.length).toBeLessThan(10_000);
    expect(Reflect.get({}, "x")).toBeUndefined();
    await sleep(100);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * megabyte);
  });

  test("an answer that nobody asked for ends the process", async () => {
    await does("manyFrames");
    await expectGone();
  });
});

async function expectGone(): Promise<void> {
  for (let i = 0; i < 100 && !hostile?.ended; i++) await sleep(20);
  expect(hostile?.ended).toBe(true);
}
