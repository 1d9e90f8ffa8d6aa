import { expect, test } from "vitest";
import { host, TimeLimitError } from "./host.ts";
import { keyOf } from "./message-key.ts";
import { Semaphore } from "./semaphore.ts";
import { roleScore, sampledTokens, turnsOfMessages } from "./trajectory.ts";
import { asUserCode, callUserCode, observeUserCode, userCodeName } from "./user-code.ts";

const later = () => new Promise<void>((resolve) => setImmediate(resolve));

test("as many jobs as allowed run at a time, in their order, urgent ones before others", async () => {
  const semaphore = new Semaphore(2);
  const log: string[] = [];
  const jobs = ["a", "b", "c", "d", "urgent"].map((name) =>
    semaphore
      .run(
        async () => {
          log.push(name);
          await later();
          log.push(`${name} ends`);
          if (name === "a") throw new Error("a fails");
          return name;
        },
        { urgent: name === "urgent" },
      )
      .catch((error: Error) => error.message),
  );
  await Promise.resolve();
  expect(log).toEqual(["a", "b"]);
  expect(await Promise.all(jobs)).toEqual(["a fails", "b", "c", "d", "urgent"]);
  expect(log.filter((line) => !line.includes("ends"))).toEqual(["a", "b", "urgent", "c", "d"]);
  // All places are free again.
  const [one, two] = [semaphore.run(async () => log.push("e")), semaphore.run(async () => log.push("f"))];
  expect(log.slice(-2)).toEqual(["e", "f"]);
  await Promise.all([one, two]);
});

test("the key of a message counts what a model reads, not reasoning, ids or the order of arguments", () => {
  const call = (args: Record<string, unknown>, argumentsText?: string) => ({
    ...{ role: "assistant" as const, content: "", reasoning: "r" },
    toolCalls: [{ id: "1", name: "f", arguments: args, ...(argumentsText === undefined ? {} : { argumentsText }) }],
  });
  const same = (a: Parameters<typeof keyOf>[0], b: Parameters<typeof keyOf>[0]) => keyOf(a) === keyOf(b);
  expect(same(call({ a: { c: 1, d: [2, { f: 1, e: 2 }] }, b: 3 }), call({ b: 3, a: { d: [2, { e: 2, f: 1 }], c: 1 } }))).toBe(
    true,
  );
  expect(same(call({ a: [1, 2] }), call({ a: [2, 1] }))).toBe(false);
  expect(same(call({}, " {broken"), call({}, "{broken "))).toBe(true);
  expect(same(call({}, "{broken"), call({}, "{other"))).toBe(false);
  expect(same(call({}, " { } "), call({}))).toBe(true);
  expect(same(call({ a: 1 }, "text"), call({ a: 1 }))).toBe(true);
  expect(keyOf({ role: "assistant", content: "x", reasoning: "r" })).toBe('["assistant","x"]');
  expect(keyOf(call({ a: null }))).toBe('["assistant","",["f",{"a":null}]]');
  expect(keyOf({ role: "tool", name: "f", callId: "1", content: "y" })).toBe('["tool","f","y"]');
  expect(keyOf({ role: "user", content: "z" })).toBe('["user","z"]');
});

test("messages are given to turns from the last one back; tokens are those that a server counted, else those that there are", () => {
  const turns = [{ turn: 0 }, { turn: 1 }] as never as Parameters<typeof turnsOfMessages>[0]["turns"];
  const message = (role: "user" | "assistant") => ({ role, content: "" });
  const shown = [message("user"), message("assistant"), message("user"), message("assistant"), message("assistant")];
  const numbers = (messages: typeof shown, of = turns) => turnsOfMessages({ messages, turns: of }).map((turn) => turn?.turn);
  // With three assistant messages and two turns, the first message is an example.
  expect(numbers(shown.slice(0, 4))).toEqual([undefined, 0, undefined, 1]);
  expect(numbers(shown, turns)).toEqual([undefined, undefined, undefined, 0, 1]);
  expect(numbers(shown.slice(0, 2))).toEqual([undefined, undefined]); // a turn whose message is not there
  expect(sampledTokens({ action: [1, 2] })).toBe(2);
  expect(sampledTokens({ action: [1, 2], usage: { promptTokens: 9, completionTokens: 0 } })).toBe(0);
  expect(roleScore("planner")).toBe("reward:planner");
});

test("users' code is followed under its name, while it runs, waits and ends", async () => {
  const log: string[] = [];
  const end = observeUserCode({
    entered: (name) => log.push(`enters ${name}`),
    left: (name) => log.push(`leaves ${name}`),
    waits: (name) => log.push(`waits for ${name}`),
    settled: (name) => log.push(`settled ${name}`),
  });
  expect(asUserCode("a", () => userCodeName())).toBe("a");
  expect(() =>
    asUserCode("b", () => {
      throw new Error("b fails");
    }),
  ).toThrow("b fails");
  const waiting = asUserCode("c", async () => {
    await later();
    log.push(`in ${userCodeName()}`);
    throw new Error("c fails");
  });
  await expect(waiting).rejects.toThrow("c fails");
  await later();
  expect(log).toEqual([
    ...["enters a", "leaves a", "enters b", "leaves b"],
    ...["enters c", "waits for c", "leaves c", "in c", "settled c"],
  ]);
  end();
  expect(asUserCode("d", () => 4)).toBe(4);
  expect([log.length, userCodeName()]).toEqual([9, undefined]);
  await expect(callUserCode("e", () => new Promise(() => {}), { timeoutMs: 1 })).rejects.toThrow("no answer within 1 ms");
  const stopped = AbortSignal.abort(new Error("stopped"));
  await expect(callUserCode("f", () => 1, { timeoutMs: 1000, signal: stopped })).rejects.toThrow("stopped");
});

test("work that does not end is interrupted; what it returns and throws comes through", () => {
  expect(host.interruptAfter(1000, () => "value")).toBe("value");
  expect(() =>
    host.interruptAfter(1000, () => {
      throw new TypeError("its own");
    }),
  ).toThrow(TypeError);
  const endless = () => {
    for (;;);
  };
  expect(() => host.interruptAfter(5, endless)).toThrow(new TimeLimitError(5));
  expect(new TimeLimitError(5)).toMatchObject({ name: "TimeLimitError", message: "no end within 5 ms" });
  expect(host.platform).toBe(process.platform);
  expect(host.residentBytes()).toBeGreaterThan(2 ** 20);
});
