import { expect, test } from "vitest";
import { keptAnswer } from "./kept-answer.ts";

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
class Order {}

test.each<[unknown]>([
  [undefined],
  [null],
  ["text"],
  [true],
  [1.5],
  [{ a: [1, "b", { c: null }], d: undefined }],
  [Object.assign(Object.create(null), { a: 1 })],
  [nested(64)],
  ["x".repeat(65_534)],
])("an answer of plain JSON is kept (%#)", (answer) => {
  expect(keptAnswer(answer, [])).toEqual({ value: answer });
});

test.each<[unknown, string]>([
  [Number.NaN, "it has the number NaN"],
  [{ a: [Number.POSITIVE_INFINITY] }, "it has the number Infinity"],
  [() => 1, "it has a function"],
  [{ a: 1n }, "it has a bigint"],
  [{ a: Symbol("x") }, "it has a symbol"],
  [new Date(0), "it has an object of the class Date"],
  [{ a: new Order() }, "it has an object of the class Order"],
  [new Map(), "it has an object of the class Map"],
  [Object.create(Object.create(null)), "it has an object of the class without a name"],
  [[1, undefined], "a list in it has a gap"],
  [nested(65), "it is nested deeper than 64"],
  ["x".repeat(65_535), "it is longer than 65536 letters of JSON"],
  [{ ["x".repeat(65_532)]: 1 }, "it is longer than 65536 letters of JSON"],
  [Array(16_384).fill(1), "it is longer than 65536 letters of JSON"],
  [
    {
      get a() {
        throw new Error("gone");
      },
    },
    "reading it raised: gone",
  ],
])("an answer that JSON would not give back is left out, with the reason (%#)", (answer, left) => {
  expect(keptAnswer(answer, [])).toEqual({ left });
});

test("what is kept is a copy without the keys of the episode", () => {
  const answer = { log: ["asked with sk-12345678 at http://me:secret@host/"] };
  const kept = keptAnswer(answer, ["sk-12345678", "short"]);
  expect(kept).toEqual({ value: { log: ["asked with [key] at http://[key]@host/"] } });
  answer.log.push("later");
  expect(kept).toMatchObject({ value: { log: { length: 1 } } });
});
