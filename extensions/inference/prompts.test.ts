import { expect, test, vi } from "vitest";
import { makeChat } from "../../src/chat/chat.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { HttpError } from "../http/http-error.ts";
import { chat, folder, text, user } from "./prompts.fixture.ts";
import { Prompts } from "./prompts.ts";

const { signal } = new AbortController();
const tool: Tool = { name: "find", description: "Finds.", parameters: { type: "object", properties: {} }, execute: () => "" };

test("a long conversation is the same prompt, made in another thread, and holds up nobody", async () => {
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

test("a client that is gone frees the thread", async () => {
  const prompts = new Prompts(chat, 1e6, folder);
  const gone = new AbortController();
  const left = prompts.open(user(text(3_000_000)), [], "", gone.signal);
  const next = prompts.open(user(text(6000)), [], "", signal);
  gone.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  expect((await next).context.text.length).toBeGreaterThan(6000);
});
