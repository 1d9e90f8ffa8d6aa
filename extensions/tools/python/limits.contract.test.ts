import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { startPython } from "./process.ts";
import { openSurroundings } from "./surroundings.fixture.ts";
import { walls } from "./walls.ts";

/* As in a container that forbids namespaces: the limits hold alone, for a program that rules its process. */
vi.mock(import("./walls.ts"), async (original) => ({ ...(await original()), enclosed: (command) => command }));

const program = join(import.meta.dirname, "../../../test/fixtures/python/hostile.mjs");
const { secret, written, port, free, visits, listens, close } = await openSurroundings();
afterAll(close);

// What limits do not hold, a signal for instance, is not tried: it would reach every process of the user.
test
  .runIf(walls().some(({ name, holds }) => name === "limits" && holds))
  .each(["read", "write", "image", "start", "connect", "listen"])("with limits alone, to %s has no effect", async (deed) => {
  const hostile = await startPython({ memoryBytes: 128 * 2 ** 20, stderr: true }, program);
  const code = `${deed} ${JSON.stringify({ secret, written, port: String(port), free: String(free) })}`;
  const asked = hostile.ask({ continues: false, code, timeoutMs: 2000, outputBytes: 1000 });
  const seen = [];
  for (let i = 0; i < 5; i++) seen.push(await listens());
  const answer = await asked;
  hostile.kill();
  expect(typeof answer === "string" ? "" : answer.output).not.toContain("hidden value");
  expect([existsSync(written), visits, seen.includes(true)]).toEqual([false, [], false]);
});
