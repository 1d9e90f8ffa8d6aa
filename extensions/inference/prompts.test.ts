import { expect, test, vi } from "vitest";
import { makeChat } from "../../src/chat/chat.ts";
import { ModelError } from "../../src/core/errors.ts";
import type { Message } from "../../src/core/messages.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { HttpError } from "../http/http-error.ts";
import { chat, folder, text, user } from "./prompts.fixture.ts";
import { maxBytes, type PromptQuestion, Prompts, promptAnswer } from "./prompts.ts";
import { type FakeThread, fakeThreads } from "./threads.fixture.ts";

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

/** Prompts over a thread of this process, which answers when it is let. */
function heldPrompts(maxLength = 1e6) {
  const { start, started } = fakeThreads();
  const prompts = new Prompts(chat, maxLength, folder, start);
  const asked = () => started.flatMap(({ thread }) => thread.asked as PromptQuestion[]);
  const answer = (question: PromptQuestion, of = started.at(-1)) => of?.thread.emit("message", promptAnswer(chat, question));
  const open = (messages: readonly Message[], from = signal) => prompts.open(messages, [], "", from);
  return { prompts, started, asked, answer, open };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("4,000 characters are made here, of which each message counts as 20 more, and what is longer in a thread", async () => {
  const { started, open, asked, answer } = heldPrompts();
  expect((await open(user("x".repeat(3980)))).context).toEqual(chat.open(user("x".repeat(3980)), []));
  await open(Array.from({ length: 200 }, () => ({ role: "user", content: "" }) as const));
  expect(started).toEqual([]);
  const long = open(user("x".repeat(3981)));
  expect(started.map(({ name, settings, thread }) => [name, settings, thread.isHeld])).toEqual([["prompt-thread", folder, true]]);
  expect(asked()).toEqual([{ messages: user("x".repeat(3981)), tools: [], continued: "" }]);
  answer(asked()[0]);
  const { context, continued } = await long;
  const here = chat.open(user("x".repeat(3981)), []);
  expect([...context.ids]).toEqual([...here.ids]);
  expect([context.text, context.tools, context.rewritten, continued]).toEqual([here.text, [], false, []]);
  expect([started[0]?.thread.isHeld, started[0]?.thread.listenerCount("message")]).toEqual([false, 0]);
  const known = new Prompts(chat, 1e6, undefined, () => {
    throw new Error("a thread");
  });
  expect((await known.open(user("x".repeat(5000)), [], "", signal)).context.text).toContain("xxx");
});

test("the continued text and shown tools count as characters", async () => {
  const { prompts, started } = heldPrompts();
  await prompts.open(user("x".repeat(3970)), [], "y".repeat(10), signal);
  expect(started).toEqual([]);
  void prompts.open(user("x".repeat(3970)), [], "y".repeat(11), signal);
  expect(started[0]?.thread.asked).toMatchObject([{ continued: "y".repeat(11) }]);
  const other = heldPrompts();
  const [shown] = [{ name: "find", description: "Finds.", parameters: tool.parameters }];
  void other.prompts.open(user("x".repeat(3980)), [tool], "", signal);
  expect(other.asked()).toEqual([{ messages: user("x".repeat(3980)), tools: [shown], continued: "" }]);
});

test("one is made at a time, the shortest of those that wait first", async () => {
  const { open, asked, answer } = heldPrompts();
  const lengths = [9000, 8000, 5000, 7000];
  const made = lengths.map((length) => open(user("x".repeat(length))));
  for (let done = 1; done <= lengths.length; done++) {
    expect(asked()).toHaveLength(done);
    answer(asked()[done - 1]);
    await settled();
  }
  expect(asked().map(({ messages }) => messages[0].content.length)).toEqual([9000, 5000, 7000, 8000]);
  expect((await Promise.all(made)).map(({ context }) => context.text.match(/x+/)?.[0].length)).toEqual(lengths);
});

test("64 wait, and a further one is to ask later", async () => {
  const { open } = heldPrompts();
  for (let i = 0; i <= 64; i++) void open(user("x".repeat(5000)));
  const refused = await open(user("x".repeat(5000))).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 429, retryAfter: 1 });
  expect(String(refused)).toBe("HttpError: long prompts is 64; expected fewer at a time.");
});

test.each<[string, string, (thread: FakeThread, gone: AbortController) => void]>([
  ["an error", "Error: no memory", (thread) => thread.emit("error", new Error("no memory"))],
  ["its end", 'ModelError: the thread of long prompts is "exit code 2".', (thread) => thread.emit("exit", 2)],
  ["its client is gone", "Error: gone", (_, gone) => gone.abort(new Error("gone"))],
  [
    "30 seconds",
    'HttpError: messages is "no prompt within 30000 ms"; expected a conversation that is shorter.',
    () => vi.advanceTimersByTime(30_000),
  ],
])("a thread is given up after %s, and the next prompt has another", async (_, text, happens) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { open, started, answer, asked } = heldPrompts();
    const gone = new AbortController();
    const failed = open(user("x".repeat(5000)), gone.signal).catch(String);
    const next = open(user("y".repeat(5000)));
    vi.advanceTimersByTime(29_999);
    const [{ thread }] = started;
    expect(thread.isEnded).toBe(false);
    happens(thread, gone);
    expect(await failed).toBe(text);
    expect([thread.isEnded, thread.isHeld, thread.listenerCount("exit")]).toEqual([true, false, 0]);
    await settled();
    expect(started).toHaveLength(2);
    answer(asked()[1]);
    expect((await next).context.text).toContain("yyy");
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("a client that is gone while it waits asks nothing", async () => {
  const { open, answer, asked, started } = heldPrompts();
  const first = open(user("x".repeat(5000)));
  const gone = new AbortController();
  const waiting = open(user("y".repeat(5000)), gone.signal).catch(String);
  gone.abort(new Error("gone"));
  answer(asked()[0]);
  await first;
  expect(await waiting).toBe("Error: gone");
  expect([asked().length, started.length, started[0]?.thread.isEnded]).toEqual([1, 1, false]);
});

test("messages that the template refuses are refused from a thread as here", async () => {
  const refusing = (error: unknown) => ({
    ...chat,
    open: () => {
      throw error;
    },
  });
  const question = { messages: user("a"), tools: [], continued: "" };
  const known = new ModelError("a role", 3, { expected: ["user"], hint: "Change it." });
  expect(promptAnswer(refusing(known), question)).toEqual({
    refused: { subject: "a role", value: "3", expected: ["user"], hint: "Change it." },
  });
  expect(promptAnswer(refusing(new Error("no")), question)).toEqual({ refused: { subject: "a prompt", value: "no" } });
  const { open, started } = heldPrompts();
  const refused = open(user("x".repeat(5000))).catch(String);
  started[0]?.thread.emit("message", promptAnswer(refusing(known), question));
  expect(await refused).toBe('ModelError: a role is "3"; expected "user". Change it.');
});

test("a body may have six bytes for each character that a context can hold, and room for its messages and schemas", () => {
  const longest = Math.max(...[...chat.tokenizer.vocabulary.tokens.values()].map(({ length }) => length));
  expect(maxBytes(chat, 128)).toBe(6 * 128 * longest + 64 * 128 + 2 ** 20);
});

test("the most characters of a context are not too many", async () => {
  const prompts = new Prompts(chat, 128);
  await prompts.open(user("x".repeat(2560)), [], "", signal);
  await expect(prompts.open(user("x".repeat(2560)), [], "y", signal)).rejects.toThrow(
    'messages is "2561 characters"; expected at most 2560, the most that its context can hold.',
  );
});

test("a model that calls no tools is asked without them alone", async () => {
  const calls = () => {
    throw new ModelError("the template", "no calls");
  };
  const prompts = new Prompts({ ...chat, calls } as never, 1e6);
  expect((await prompts.open(user("a"), [], "", signal)).context.text).toContain("a");
  await expect(prompts.open(user("a"), [tool], "", signal)).rejects.toThrow('the template is "no calls"');
});

test("tools count where the template shows them, and not where it has no place for them", async () => {
  const tools = { ...tool, description: "x".repeat(4000) };
  const { start, started } = fakeThreads();
  await new Prompts({ ...chat, toolsIn: "none" }, 1e6, folder, start).open(user("a"), [tools], "", signal);
  expect(started).toEqual([]);
  void new Prompts({ ...chat, toolsIn: "template" }, 1e6, folder, start).open(user("a"), [tools], "", signal);
  expect(started).toHaveLength(1);
});
