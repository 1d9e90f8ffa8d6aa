import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { makeChat } from "../../src/chat/chat.ts";
import type { Formed, GrammarMask } from "../../src/chat/grammar.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { maskAnswers } from "./mask-answers.ts";
import { type MaskQuestion, type MaskSettings, ThreadMasks } from "./thread-masks.ts";
import { type FakeThread, fakeThreads } from "./threads.fixture.ts";

const folder = join(import.meta.dirname, "../../models/office");
const chat = makeChat(loadTokenizer(folder));
const masks = new ThreadMasks(folder, chat.tokenizer.size);
const formOf = (...names: string[]): Formed => ({
  form: {
    schema: { type: "object", properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])), required: names },
  },
});
const mask = async (form: Formed, from: Pick<typeof masks, "mask"> = masks) => (await from.mask(form)) as GrammarMask;

test("masks of a thread are those of a grammar here, token by token", async () => {
  const [there, here] = [await mask(formOf("title")), await mask(formOf("title"), chat.grammars)];
  for (let draw = 0; draw < 2; draw++) {
    for (const token of chat.tokenizer.encode('{"title": "Demo"}')) {
      expect(there.next()).toEqual(here.next());
      expect(there.allows(token)).toBe(true);
      there.accept(token);
      here.accept(token);
    }
    expect(there.allows(chat.tokenizer.encode("x")[0] ?? 0)).toBe(false);
    there.restart();
    here.restart();
  }
  there.accept(chat.tokenizer.encode("x")[0] ?? 0);
  expect(() => there.next()).toThrow("grammar");
  there.close();
  expect(await masks.mask({ tools: [] })).toBeUndefined();
  await expect(masks.mask({ form: { schema: { type: "nonsense" } } })).rejects.toThrow(/schema is .*nonsense/);
});

test("a mask of one form is asked for while the grammar of another is compiled", async () => {
  const short = await mask(formOf("a"));
  let isCompiled = false;
  const long = mask(formOf(...Array.from({ length: 150 }, (_, i) => `property_${i}`))).then((made) => {
    isCompiled = true;
    made.close();
  });
  let parsed = 0;
  while (!isCompiled && parsed < 20) {
    short.next();
    parsed++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(isCompiled).toBe(false);
  short.close();
  await long;
});

test("more forms at a time than there are threads are refused, and then answered", async () => {
  const open = await Promise.all(["a", "b", "c", "d"].map((name) => mask(formOf(name))));
  const again = await mask(formOf("a"));
  expect(await masks.mask(formOf("e")).catch((error: unknown) => error)).toMatchObject({ status: 429, retryAfter: 1 });
  for (const each of [again, ...open]) each.close();
  (await mask(formOf("e"))).close();
});

/** Masks over threads of this process, whose grammars are those of the chat. */
function inProcess(answerOf: (settings: MaskSettings) => ((question: never) => unknown) | undefined) {
  const { start, started } = fakeThreads(answerOf);
  return { made: new ThreadMasks(folder, chat.tokenizer.size, start), started };
}
const sound = ({ words }: MaskSettings) => maskAnswers(chat.grammars, words);

test("four threads are started, one for each form, and the one that was free for longest takes the next", async () => {
  const { made, started } = inProcess(sound);
  const forms = ["a", "b", "c", "d"].map((name) => formOf(name));
  const open = await Promise.all(forms.map((form) => mask(form, made)));
  const size = Math.ceil(chat.tokenizer.size / 32) + 2;
  expect(started.map(({ name, settings }) => [name, settings])).toEqual(
    forms.map(() => ["mask-thread", { folder, words: expect.objectContaining({ length: size }) }]),
  );
  const second = await mask(formOf("b"), made);
  expect(started).toHaveLength(4);
  const refused = await mask(formOf("e"), made).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 429, retryAfter: 1 });
  expect(String(refused)).toContain("forms of answers is 4; expected fewer different ones at a time");
  for (const each of [open[2], open[1]]) each?.close();
  // The thread of "b" has another mask still: that of "c" is free. Closing twice counts once.
  open[1]?.close();
  (await mask(formOf("e"), made)).close();
  expect(started.map(({ thread }) => thread.asked.filter((asked) => (asked as MaskQuestion).ask === "compile").length)).toEqual([
    1, 2, 2, 1,
  ]);
  for (const each of [open[0], second]) each?.close();
  // "e" was there last: of those that are free now that of "a" was asked for first.
  (await mask(formOf("f"), made)).close();
  (await mask(formOf("e"), made)).close();
  expect(started.map(({ thread }) => thread.asked.filter((asked) => (asked as MaskQuestion).ask === "compile").length)).toEqual([
    2, 2, 3, 1,
  ]);
  expect(started.map(({ thread }) => [thread.isHeld, thread.listenerCount("message")])).toEqual(started.map(() => [false, 0]));
});

test("a mask of a thread is asked for by its number, and its schema's words that no grammar holds are named", async () => {
  const { made, started } = inProcess(sound);
  const [one, two] = [await mask(formOf("a"), made), await mask(formOf("a"), made)];
  const [token] = chat.tokenizer.encode("{");
  one.accept(token);
  expect([one.loose, two.loose]).toEqual([[], []]);
  expect(two.next()).not.toEqual(one.next());
  expect(one.next()).toHaveLength(Math.ceil(chat.tokenizer.size / 32));
  one.restart();
  expect(two.next()).toEqual(one.next());
  expect([two.allows(token), two.allows(chat.tokenizer.encode("x")[0])]).toEqual([true, false]);
  two.close();
  expect(started[0].thread.asked.map((asked) => ({ ...(asked as object), formed: undefined }))).toMatchObject([
    ...[
      { ask: "compile", mask: 1 },
      { ask: "compile", mask: 2 },
    ],
    ...[
      { ask: "accept", mask: 1, token },
      { ask: "next", mask: 2 },
      { ask: "next", mask: 1 },
      { ask: "next", mask: 1 },
    ],
    ...[
      { ask: "restart", mask: 1 },
      { ask: "next", mask: 2 },
      { ask: "next", mask: 1 },
    ],
    ...[
      { ask: "allows", mask: 2, token },
      { ask: "allows", mask: 2 },
      { ask: "close", mask: 2 },
    ],
  ]);
});

test("a form that any text has starts no thread, and tools go without their code", async () => {
  const { made, started } = inProcess(() => () => ({ loose: [] }));
  expect(await made.mask({ tools: [], toolChoice: "required" })).toBeUndefined();
  expect(started).toEqual([]);
  const parameters = { type: "object", properties: {} } as const;
  const tool = { name: "find", description: "Finds.", parameters, execute: () => "" };
  await made.mask({ tools: [tool], toolChoice: { tool: "find" }, parallelCalls: false, strictTools: ["find"] });
  expect(started[0].thread.asked).toEqual([
    {
      ...{ ask: "compile", mask: 1 },
      formed: {
        ...{ tools: [{ name: "find", description: "", parameters }], toolChoice: { tool: "find" } },
        ...{ parallelCalls: false, strictTools: ["find"], form: undefined },
      },
    },
  ]);
});

test("a schema that is refused in a thread has its reason here, and its thread is free", async () => {
  const { made, started } = inProcess(() => () => ({
    refused: { subject: "schema", value: "strange", expected: "another", hint: "Change it." },
  }));
  for (let times = 0; times < 5; times++) {
    const error = await made.mask(formOf(`a${times}`)).catch((error: unknown) => error);
    expect(String(error)).toBe('ModelError: schema is "strange"; expected another. Change it.');
  }
  expect(started).toHaveLength(4);
});

test.each<[string, unknown, (thread: FakeThread) => void]>([
  ["an error", "ReferenceError: x", (thread) => thread.emit("error", new ReferenceError("x"))],
  ["its end", 'ModelError: the thread of a grammar is "exit code 1".', (thread) => thread.emit("exit", 1)],
  [
    "30 seconds",
    'HttpError: schema is "no grammar within 30000 ms"; expected a schema that is smaller.',
    () => vi.advanceTimersByTime(30_000),
  ],
])("a thread is given up after %s, and the next form has another", async (_, text, happens) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { made, started } = inProcess(() => undefined);
    const waiting = made.mask(formOf("a")).catch(String);
    await Promise.resolve();
    vi.advanceTimersByTime(29_999);
    const [{ thread }] = started;
    expect([thread.isHeld, thread.isEnded]).toEqual([true, false]);
    happens(thread);
    expect(await waiting).toBe(text);
    expect([thread.isHeld, thread.isEnded, thread.listenerCount("message"), vi.getTimerCount()]).toEqual([false, true, 0, 0]);
    void made.mask(formOf("a"));
    expect(started).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});

test("a mask whose thread was given up has no answer", async () => {
  const { made, started } = inProcess((settings) => {
    const answer = sound(settings);
    return (question: MaskQuestion) => (question.ask === "allows" ? undefined : answer(question));
  });
  const one = await mask(formOf("a"), made);
  const wait = vi.spyOn(Atomics, "wait").mockReturnValue("timed-out");
  expect(() => one.allows(1)).toThrow('grammar is "no answer"; expected a token that its mask allows.');
  expect(wait.mock.calls.map(([, index, value, ms]) => [index, value, ms])).toEqual([[0, 0, 5000]]);
  wait.mockRestore();
  expect(started[0].thread.isEnded).toBe(true);
  expect(() => one.next()).toThrow("no answer");
  expect(started[0].thread.asked.filter((asked) => (asked as MaskQuestion).ask === "next")).toEqual([]);
});

test("a late notification of the answer before is not taken for the next answer", async () => {
  let words: Int32Array = new Int32Array();
  const { made } = inProcess((settings) => {
    const answer = sound(settings);
    words = settings.words;
    return (question: MaskQuestion) => (question.ask === "allows" ? undefined : answer(question));
  });
  const one = await mask(formOf("a"), made);
  const wait = vi.spyOn(Atomics, "wait").mockReturnValueOnce("ok");
  wait.mockImplementation(() => {
    words.set([1, 1, 1]);
    return "ok";
  });
  try {
    expect(one.allows(1)).toBe(true);
    expect(wait).toHaveBeenCalledTimes(2);
  } finally {
    wait.mockRestore();
  }
  one.close();
});
