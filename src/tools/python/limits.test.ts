import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startPython } from "./process.ts";
import { walls } from "./walls.ts";

/* As in a container that forbids namespaces: the limits hold alone, for a program that rules its process. */
vi.mock(import("./walls.ts"), async (original) => ({ ...(await original()), enclosed: (command) => command }));

const program = join(import.meta.dirname, "../../../test/fixtures/python/hostile.mjs");
const folder = mkdtempSync(join(tmpdir(), "retrograde-limits-"));
const [secret, written] = ["secret.txt", "written.txt"].map((name) => join(folder, name));
const free = 20_000 + (process.pid % 20_000);
const visits: string[] = [];
const server = createServer((request, response) => {
  visits.push(request.url ?? "");
  response.end("reached");
});
let port = 0;

beforeAll(async () => {
  writeFileSync(secret, "hidden value");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const listens = () =>
  new Promise<boolean>((resolve) => {
    const socket = connect(free, "127.0.0.1");
    socket.on("connect", () => resolve(true));
    socket.on("error", () => resolve(false));
  });

// What limits do not hold, a signal for instance, is not tried: it would reach every process of the user.
test
  .runIf(walls().some(({ name, holds }) => name === "limits" && holds))
  .each(["read", "write", "image", "start", "connect", "listen"])("with limits alone, to %s has no effect", async (deed) => {
  const hostile = await startPython({ memoryBytes: 128 * 2 ** 20, stderr: true }, program);
  const code = `${deed} ${JSON.stringify({ secret, written, port: String(port), free: String(free) })}`;
  const asked = hostile.ask({ continues: false, replay: [], code, timeoutMs: 2000, outputBytes: 1000 });
  const seen = [];
  for (let i = 0; i < 5; i++) seen.push(await listens());
  const answer = await asked;
  hostile.kill();
  expect(typeof answer === "string" ? "" : answer.output).not.toContain("hidden value");
  expect([existsSync(written), visits, seen.includes(true)]).toEqual([false, [], false]);
});
