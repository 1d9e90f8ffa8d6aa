import "../../test/loopback.ts";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CompletionError } from "../completions/errors.ts";
import { defineEnvironment } from "../environments/define.ts";
import { createScreen } from "../terminal/screen.ts";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { measure } from "./measure.ts";

const scratch = mkdtempSync(join(tmpdir(), "retrograde-measure-"));
const tasks = ["a", "b"].map((prompt) => ({ prompt }));
const echo = defineEnvironment({
  name: "echo",
  tasks: { train: tasks, test: tasks },
  start: ({ prompt }) => ({ tools: [], reward: ({ answer }) => Number(answer === prompt) }),
});

/** A model that repeats its prompt, one whose key has expired, and one that says nothing. */
const server = createServer(async (request, response) => {
  const parts = await request.toArray().catch(() => undefined);
  if (parts === undefined) return; // who asked has gone
  const { model, messages } = JSON.parse(Buffer.concat(parts).toString());
  if (model === "silent") return;
  if (model === "expired") return void response.writeHead(401).end("expired");
  const usage = { prompt_tokens: 3, completion_tokens: 2 };
  response.end(JSON.stringify({ choices: [{ message: { content: messages.at(-1).content }, finish_reason: "stop" }], usage }));
});
let baseUrl = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Measures a model on a screen. */
function measured(model: string, stream: { readonly isTTY?: boolean } = {}) {
  let text = "";
  const screen = createScreen({ ...stream, columns: 100, write: (part: string) => (text += part) });
  const out = join(scratch, model);
  const player = { baseUrl, retries: 0 };
  const user: UserConfig = { environment: echo, model, out, evaluation: { tasks: 2, k: 1, greedy: false, player } };
  return { out, result: measure(resolveConfig(user), user, false, screen), said: () => text };
}

test("without a terminal an evaluation says what it measures; on one it shows how far it is, and takes that away", async () => {
  const { result, said } = measured("echo");
  expect((await result)?.report.evaluations.map(({ mean }) => mean)).toEqual([1]);
  expect(said()).toBe(`Evaluating echo at ${baseUrl} in "echo": 2 test tasks\n`);
  const live = measured("echo2", { isTTY: true });
  await live.result;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  const shown = live.said().replace(/\x1b\[\d*[mK]/g, "");
  expect(shown).toMatch(/\revaluating {2}█{10}░{10} {2}1\/2 episodes/);
  expect(live.said().endsWith("\r\x1b[K")).toBe(true);
});

test("a server that fails costs only the episodes in flight, and the error says how to continue", async () => {
  const { out, result } = measured("expired");
  const error = await result.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CompletionError);
  expect(error).toMatchObject({ failure: "settings", value: "401 expired", cause: expect.any(CompletionError) });
  expect(String(error)).toContain(
    `Check the address, the key and the model's name. What is done is kept: the same command with --resume --out ${out} continues.`,
  );
});

test("an interruption keeps what has ended, and says how to continue", async () => {
  const { out, result, said } = measured("silent");
  const listening = process.listenerCount("SIGTERM");
  const deadline = Date.now() + 20_000;
  while (!said().includes("Evaluating") && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
  process.emit("SIGTERM", "SIGTERM");
  expect(await result).toBeUndefined();
  expect(said().split("\n").slice(1)).toEqual([
    `Interrupted. Episodes that have ended are kept in ${out}`,
    `Continue: the same command with --resume --out ${out}`,
    "",
  ]);
  expect(process.listenerCount("SIGTERM")).toBe(listening - 1);
});

test("what is wrong before a folder is made is its own error", async () => {
  const user: UserConfig = { environment: echo, model: "echo", evaluation: { tasks: 0, player: { baseUrl } } };
  const screen = createScreen({ write: () => true });
  await expect(measure(resolveConfig(user), user, false, screen)).rejects.toThrow("evaluation.tasks is 0");
});
