import "../../test/loopback.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CompletionError } from "../completions/errors.ts";
import { echoEnvironment, serveEchoes } from "../sdk/echo-server.fixture.ts";
import { createScreen } from "../terminal/screen.ts";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { measure } from "./measure.ts";

const scratch = mkdtempSync(join(tmpdir(), "retrograde-measure-"));
const echo = echoEnvironment(["a", "b"]);
const baseUrl = serveEchoes({ prompt_tokens: 3, completion_tokens: 2 });

/** Measures a model on a screen. */
function measured(model: string, stream: { readonly isTTY?: boolean } = {}) {
  let text = "";
  const screen = createScreen({ ...stream, columns: 100, write: (part: string) => (text += part) });
  const out = join(scratch, model);
  const player = { baseUrl: baseUrl(), retries: 0 };
  const user: UserConfig = { environment: echo, model, out, evaluation: { tasks: 2, k: 1, greedy: false, player } };
  return { out, result: measure(resolveConfig(user), user, false, screen), said: () => text };
}

test("without a terminal an evaluation says what it measures; on one it shows how far it is, and takes that away", async () => {
  const { result, said } = measured("echo");
  expect((await result)?.report.evaluations.map(({ mean }) => mean)).toEqual([1]);
  expect(said()).toBe(`Evaluating echo at ${baseUrl()} in "echo": 2 test tasks\n`);
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
  const user: UserConfig = { environment: echo, model: "echo", evaluation: { tasks: 0, player: { baseUrl: baseUrl() } } };
  const screen = createScreen({ write: () => true });
  await expect(measure(resolveConfig(user), user, false, screen)).rejects.toThrow("evaluation.tasks is 0");
});
