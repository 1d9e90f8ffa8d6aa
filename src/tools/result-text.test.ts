import { expect, test } from "vitest";
import { resultText } from "./result-text.ts";

class Event {
  readonly #time = "10:30";
  get time() {
    return this.#time;
  }
}

test.each<[unknown, string, string]>([
  [new Map([["time", 1]]), "[a Map of 1: not shown]", "a Map of 1"],
  [new Set(), "[a Set of 0: not shown]", "a Set of 0"],
  [
    new Error("not found"),
    '[the error "not found" (returned, not thrown): not shown]',
    'the error "not found" (returned, not thrown)',
  ],
  [
    new Response("x"),
    "[an instance of Response without fields of its own: not shown]",
    "an instance of Response without fields of its own",
  ],
  [new Event(), "[an instance of Event without fields of its own: not shown]", "an instance of Event without fields of its own"],
  [["10:30"].values(), "[a generator (Object): not shown]", "a generator (Object)"],
  [
    { result: Promise.resolve(1) },
    '{"result":"[a promise (is an await missing?): not shown]"}',
    'a promise (is an await missing?) under "result"',
  ],
  [{ price: Number.NaN, title: "tea" }, '{"price":"[NaN: not shown]","title":"tea"}', 'NaN under "price"'],
  [() => 1, "[a function: not shown]", "a function"],
  [Symbol("x"), "[a symbol: not shown]", "a symbol"],
  [undefined, "", "undefined: it returned nothing"],
  [new Uint8Array(3), "[binary data, 3 bytes: not shown]", "binary data"],
  [new ArrayBuffer(2), "[binary data, 2 bytes: not shown]", "binary data"],
  [Number.POSITIVE_INFINITY, "[Infinity: not shown]", "Infinity"],
  [{ a: [new Map()], b: () => 1 }, '{"a":["[a Map of 0: not shown]"],"b":"[a function: not shown]"}', 'a Map of 0 under "0"'],
])("of %s the model reads that it is not shown", (result, text, lost) => {
  expect(resultText(result)).toEqual({ text, lost });
});

test.each([
  "text",
  null,
  3,
  false,
  [],
  {},
  { a: [1, { b: null }], c: undefined },
  { when: new Date(0) },
  Object.create(null),
  new (class Point {
    x = 1;
  })(),
])("JSON holds %j, and nothing is said", (result) => {
  expect(resultText(result)).toEqual({ text: typeof result === "string" ? result : JSON.stringify(result) });
});
