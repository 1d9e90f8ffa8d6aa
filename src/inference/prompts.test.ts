import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { makeChat } from "../chat/chat.ts";
import { loadTokenizer } from "../chat/tokenizer-folder.ts";
import type { Sampler } from "../engines/engine.ts";
import { HttpError } from "../http/http-error.ts";
import type { Tool } from "../tools/tool.ts";
import { engineModel } from "./engine-model.ts";
import { Prompts } from "./prompts.ts";
import { serveInference } from "./server.ts";

const folder = join(import.meta.dirname, "../../models/office");
const chat = makeChat(loadTokenizer(folder));
const { signal } = new AbortController();
const tool: Tool = { name: "find", description: "Finds.", parameters: { type: "object", properties: {} }, execute: () => "" };
/** Words of random letters: no piece of them comes again. */
const text = (length: number) => {
  let [state, words] = [1, ""];
  for (let i = 0; i < length; i++) {
    state = (state * 48_271) % 2_147_483_647;
    words += i % 6 === 5 ? " " : String.fromCharCode(97 + (state % 26));
  }
  return words;
};
const user = (content: string) => [{ role: "user", content }] as const;

test("a long conversation is the same prompt, made in another thread, and holds up nobody", { timeout: 60_000 }, async () => {
  const prompts = new Prompts(chat, 1e6, folder);
  const messages = user(text(60_000));
  await prompts.open(user(text(5000)), [], "", signal); // the thread has started
  let [last, lag] = [performance.now(), 0];
  const timer = setInterval(() => {
    const now = performance.now();
    lag = Math.max(lag, now - last);
    last = now;
  }, 5);
  const long = prompts.open(messages, [tool], "And ", signal);
  const short = await prompts.open(user("Hello"), [], "", signal);
  const made = await long;
  clearInterval(timer);
  expect(short.context).toEqual(chat.open(user("Hello"), []));
  const start = performance.now();
  const here = chat.open(messages, [tool]);
  const took = performance.now() - start;
  expect([...made.context.ids]).toEqual([...here.ids]);
  expect(made.context.text).toBe(here.text);
  expect(made.continued).toEqual(chat.tokenizer.encode("And "));
  expect(lag).toBeLessThan(took / 2); // 10 ms of 400 on a quiet machine
});

test("what could not fit is refused by its characters, before anything is tokenised", async () => {
  const encode = vi.fn(chat.tokenizer.encode);
  const counted = makeChat({ ...chat.tokenizer, encode });
  encode.mockClear();
  const prompts = new Prompts(counted, 128, folder);
  const refused = await prompts.open(user("x".repeat(5_000_000)), [], "", signal).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(HttpError);
  expect(refused).toMatchObject({ status: 400, code: "context_length_exceeded" });
  expect(String(refused)).toMatch(/500000. characters.*at most 2560/);
  expect(encode).not.toHaveBeenCalled();
});

test("a body that no context could hold is refused before it is parsed", async () => {
  const sampler = { info: { maxLength: 128, vocabularySize: 1024, capabilities: [] } } as unknown as Sampler;
  const models = new Map([["office", engineModel(sampler, chat, folder)]]);
  const server = await serveInference({ host: "127.0.0.1", port: 0, keys: [], models });
  const parse = vi.spyOn(JSON, "parse");
  const body = JSON.stringify({ model: "office", messages: user("x".repeat(5_000_000)) });
  const answer = await fetch(`${server.baseUrl}/v1/chat/completions`, { method: "POST", body });
  expect(parse.mock.calls.filter(([text]) => text.length > 1000)).toEqual([]);
  parse.mockRestore();
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { code: "context_length_exceeded" } });
  await server.close();
});

test("a client that is gone frees the thread", { timeout: 30_000 }, async () => {
  const prompts = new Prompts(chat, 1e6, folder);
  const gone = new AbortController();
  const left = prompts.open(user(text(3_000_000)), [], "", gone.signal);
  const next = prompts.open(user(text(6000)), [], "", signal);
  gone.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  expect((await next).context.text.length).toBeGreaterThan(6000);
});
