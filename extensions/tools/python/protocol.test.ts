import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { answerSchema, frameOf, longestAnswer, readFrames, readySchema } from "./protocol.ts";

/** What is received of these parts, each of which arrives by itself. */
async function received(parts: readonly Buffer[], longest: () => number = () => 100): Promise<unknown[]> {
  const from = new PassThrough();
  const messages: unknown[] = [];
  readFrames(from, longest, (message) => messages.push(message));
  for (const part of parts) from.write(part);
  from.end();
  await new Promise((resolve) => from.once("end", resolve));
  return messages;
}

test("a message is its length in four bytes, highest first, and JSON in UTF-8", () => {
  expect(frameOf({ a: "ä" }).toString("hex")).toBe(`0000000a${Buffer.from('{"a":"ä"}').toString("hex")}`);
  expect(frameOf("x".repeat(300)).subarray(0, 4)).toEqual(Buffer.from([0, 0, 1, 46]));
});

test("messages are read the same wherever the parts end", async () => {
  const messages = [{ a: 1 }, "ä€😀", [], { deep: { b: [null] } }];
  const bytes = Buffer.concat(messages.map(frameOf));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 9 }), async (cuts) => {
      const at = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
      expect(await received(at.slice(1).map((end, i) => bytes.subarray(at[i], end)))).toEqual(messages);
    }),
    { numRuns: 50 },
  );
});

test("what is too long, or no JSON, is nothing, and nothing is read behind it", async () => {
  const [good, long] = [frameOf({ a: 1 }), frameOf("x".repeat(99))];
  const junk = Buffer.from([0, 0, 0, 2, 123, 123]);
  expect(await received([Buffer.concat([good, junk, good])])).toEqual([{ a: 1 }, undefined]);
  expect(await received([Buffer.concat([good, long, good])])).toEqual([{ a: 1 }, undefined]);
  expect(await received([long, good], () => 101)).toEqual(["x".repeat(99), { a: 1 }]);
  // Its length alone is enough: the rest is not waited for.
  expect(await received([long.subarray(0, 4), good])).toEqual([undefined]);
  expect(await received([good.subarray(0, 10)])).toEqual([]);
});

test("the limit is asked for each message", async () => {
  const limits = [100, 100, 5];
  const frames = Buffer.concat([frameOf("1234567"), frameOf("1234567")]);
  expect(await received([frames], () => limits.shift() ?? 5)).toEqual(["1234567", undefined]);
});

test("the longest answer has six bytes for each of the output, and room for a traceback", () => {
  expect(longestAnswer(0)).toBe(131_072);
  expect(longestAnswer(1000)).toBe(137_072);
});

test.each([
  [{}, true],
  [{ kind: "interrupted" }, true],
  [{ kind: "time" }, false],
  [{ droppedBytes: -1 }, false],
  [{ output: 1 }, false],
  [{ text: undefined }, false],
  [{ id: "1" }, false],
])("an answer with %j is one: %s", (change, isOne) => {
  const answer = { id: 1, kind: "", text: "", output: "", droppedBytes: 0, ...change };
  expect(answerSchema.safeParse(answer).success).toBe(isOne);
  expect(readySchema.safeParse({ ready: isOne }).success).toBe(isOne);
});
