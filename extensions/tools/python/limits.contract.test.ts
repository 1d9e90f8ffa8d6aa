import { lstatSync, readdirSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { present } from "../../../src/core/present.ts";
import { startPython } from "./process.ts";
import { openSurroundings } from "./surroundings.fixture.ts";
import { walls } from "./walls.ts";

/* As in a container that forbids namespaces, for a program that rules its process: with the kernel's rules, and with the limits alone. */
const around = vi.hoisted(() => ({ rules: true }));
vi.mock(import("./walls.ts"), async (original) => {
  const own = await original();
  return { ...own, enclosed: (command, files) => (around.rules ? own.enclosed(command, files) : command) };
});
vi.stubEnv("PATH", "/nowhere"); // where `unshare` is not
const found = walls();
vi.unstubAllEnvs();
const holds = (name: string) => found.some((wall) => wall.name === name && wall.holds);

const program = join(import.meta.dirname, "../../../test/fixtures/python/hostile.mjs");

/** Has a program do something, with a process of its own to signal. @returns what changed: in its answer, files, connections and that process */
async function effects(deed: string): Promise<string[]> {
  const { folder, secret, written, removed, port, free, visits, victim, listens, close } = await openSurroundings();
  const pid = present(victim.pid, "a process to signal");
  const seen = () => {
    const { mode, mtimeMs } = lstatSync(removed, { throwIfNoEntry: false }) ?? {};
    const state = victim.exitCode === null && victim.signalCode === null ? getPriority(pid) : victim.signalCode;
    return { names: readdirSync(folder).join(), mode, mtimeMs, state };
  };
  const before = seen();
  const hostile = await startPython({ memoryBytes: 128 * 2 ** 20, stderr: true }, program);
  try {
    const where = { secret, written, removed, port: String(port), free: String(free), victim: String(pid) };
    const asked = hostile.ask({
      continues: false,
      code: `${deed} ${JSON.stringify(where)}`,
      timeoutMs: 2000,
      outputBytes: 1000,
    });
    const heard = [];
    for (let i = 0; i < 5; i++) heard.push(await listens());
    const answer = await asked;
    await sleep(50);
    const after = seen();
    return [
      ...(typeof answer !== "string" && answer.output.includes("hidden value") ? ["read"] : []),
      ...Object.keys(before).filter((key) => before[key as keyof typeof before] !== after[key as keyof typeof after]),
      ...visits,
      ...(heard.includes(true) ? ["listens"] : []),
    ];
  } finally {
    hostile.kill();
    close();
  }
}

/** What needs no descriptor, and its effect where the limits hold alone. */
const withoutDescriptor = {
  rename: ["names", "mode", "mtimeMs"],
  remove: ["names", "mode", "mtimeMs"],
  link: ["names"],
  folder: ["names"],
  mode: ["mode"],
  times: ["mtimeMs"],
  interrupt: ["state"],
  slow: ["state"],
};
const withDescriptor = ["read", "write", "image", "start", "connect", "listen"];

describe.runIf(holds("limits"))("without namespaces", () => {
  test.runIf(holds("rules")).each([...withDescriptor, ...Object.keys(withoutDescriptor)])(
    "to %s has no effect under the kernel's rules",
    async (deed) => {
      around.rules = true;
      expect(await effects(deed)).toEqual([]);
    },
  );

  test.each(withDescriptor)("with limits alone, to %s has no effect", async (deed) => {
    around.rules = false;
    expect(await effects(deed)).toEqual([]);
  });

  test.each(Object.entries(withoutDescriptor))("with limits alone, to %s has an effect: %j", async (deed, effect) => {
    around.rules = false;
    expect(await effects(deed)).toEqual(effect);
  });
});
