import { expect, test } from "vitest";
import type { SampleRequest } from "../../../src/engines/engine.ts";
import { adopt, byToken, checkRequest, drawsAlone, drawToken, isTwin, markCached, newRow, type Row, sharedWith } from "./row.ts";

const limits = { maxLength: 10, vocabSize: 6, decode: undefined };
const request = (changes: Partial<SampleRequest> = {}): SampleRequest => ({
  context: [1, 2, 3],
  maxTokens: 4,
  stopTokens: [5],
  seed: 1,
  ...changes,
});
const rowOf = (changes: Partial<SampleRequest> = {}, decode?: (tokens: readonly number[]) => string): Row =>
  newRow(request(changes), { ...limits, decode }, { resolve: () => {}, reject: () => {} });

test.each<readonly [Partial<SampleRequest>, string]>([
  [{ context: [] }, "context length is 0; expected 1 to 9 tokens"],
  [{ context: Array(10).fill(1) }, "context length is 10; expected 1 to 9 tokens"],
  [{ context: [1, 6] }, "token id is 6; expected 0 to 5"],
  [{ maxTokens: 0 }, "maxTokens is 0; expected a whole number from 1"],
  [{ maxTokens: 1.5 }, "maxTokens is 1.5"],
  [{ temperature: -1 }, "temperature is -1; expected a number from 0, which is greedy"],
  [{ temperature: Number.POSITIVE_INFINITY }, "temperature is"],
  [{ topP: 0 }, "topP is 0; expected a number above 0, at most 1, which is off"],
  [{ topP: 1.1 }, "topP is 1.1"],
  [{ topK: -1 }, "topK is -1; expected a whole number from 0, which is off"],
  [{ topK: 2.5 }, "topK is 2.5"],
  [{ topLogprobs: -1 }, "topLogprobs is -1"],
  [{ topLogprobs: 0.5 }, "topLogprobs is 0.5"],
  [{ stopStrings: ["x"] }, 'stopStrings is ["x"]; expected an engine made with `decode`'],
])("%o is refused", (changes, message) => {
  expect(() => checkRequest(request(changes), limits)).toThrow(message);
});

test("what is at a bound is let in", () => {
  const bounds = [
    { context: Array(9).fill(0) },
    { temperature: 0 },
    { topP: 1, topK: 0, topLogprobs: 0, maxTokens: 1 },
    { context: [5] },
  ];
  for (const changes of bounds) checkRequest(request(changes), limits);
  checkRequest(request({ stopStrings: ["x"] }), { ...limits, decode: () => "" });
});

test("a row begins with its context pending, and ends with the longest sequence", () => {
  const row = rowOf({ maxTokens: 100 });
  expect(row).toMatchObject({
    tokens: [],
    pending: [1, 2, 3],
    maxTokens: 7,
    choice: { temperature: 1, topP: 1, topK: 0 },
    stopStrings: undefined,
  });
  expect([row.action.topLogprobs, rowOf({ topLogprobs: 2 }).action.topLogprobs]).toEqual([undefined, []]);
  expect(rowOf({ stopStrings: ["x"] }).stopStrings).toBeUndefined();
  expect(rowOf({ stopStrings: ["x"] }, () => "").stopStrings).toBeDefined();
  markCached(row, 2);
  expect([row.tokens, row.pending]).toEqual([[1, 2], [3]]);
  // The last token of a context is always fed.
  expect([[1, 2, 3], [1, 2, 3, 4], [1, 9], []].map((tokens) => sharedWith(row, tokens))).toEqual([2, 2, 1, 0]);
});

test("rows of one context and temperature are twins until they draw", () => {
  const others: Partial<SampleRequest>[] = [
    { seed: 2, topK: 3 },
    { temperature: 0.5 },
    { context: [1, 2] },
    { context: [1, 2, 4] },
    { context: [1, 2, 3, 4] },
  ];
  expect(others.map((changes) => isTwin(rowOf(changes), rowOf()))).toEqual([true, false, false, false, false]);
});

test("a row whose distribution is needed for more than its own draw does not draw alone", () => {
  const alone = (changes: Partial<SampleRequest>, own: Partial<Row> = {}) =>
    drawsAlone({ ...rowOf({ context: [1], ...changes }), ...own });
  const mask = { next: () => new Int32Array(1), allows: () => true, accept: () => {} };
  expect([alone({}), alone({ temperature: 0, topK: 4, topP: 0.5 })]).toEqual([true, true]);
  expect([alone({ topK: 4 }), alone({ topP: 0.5 }), alone({ topLogprobs: 1 }), alone({ mask })]).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect([alone({}, { twins: [rowOf()] }), alone({ context: [1, 2] })]).toEqual([false, false]);
});

const outputs = (probabilities: readonly number[], entropy = 1) => ({
  ...{ probabilities: Float32Array.from([...Array(6).fill(1 / 6), ...probabilities]), logits: undefined, made: undefined },
  entropies: Float32Array.of(9, entropy),
});

test("a draw is recorded whole, and says why the action ends", () => {
  const certain = [0, 0, 1, 0, 0, 0];
  const heard: unknown[] = [];
  const row = rowOf({ maxTokens: 2, topLogprobs: 2, onToken: (token) => heard.push(token) });
  expect(drawToken(row, 1, outputs(certain, 0.25), 6, undefined)).toBeUndefined();
  expect(row.action).toMatchObject({
    tokens: [2],
    logprobs: [0],
    modelLogprobs: [0],
    entropies: [0.25],
    topTokens: [[2]],
    topLogprobs: [[0]],
  });
  expect([row.pending, row.action.masked]).toEqual([[2], undefined]);
  expect(heard).toEqual([{ token: 2, logprob: 0, top: { tokens: [2], logprobs: [0] } }]);
  expect(drawToken(row, 1, outputs(certain), 6, undefined)).toBe("length");
  expect(drawToken(rowOf(), 1, outputs([0, 0, 0, 0, 0, 1]), 6, undefined)).toBe("stop");
  const stops = rowOf({ stopStrings: ["cc"] }, (tokens) => tokens.map((token) => "abcdef"[token]).join(""));
  expect([1, 2].map(() => drawToken(stops, 1, outputs(certain), 6, undefined))).toEqual([undefined, "stop"]);
});

test("what a mask takes away is noted, and the mask hears what was drawn", () => {
  const accepted: number[] = [];
  const mask = { next: () => Int32Array.of(0b001000), allows: () => false, accept: (token: number) => void accepted.push(token) };
  const row = rowOf({ mask });
  drawToken(row, 1, outputs([0.5, 0, 0, 0.5, 0, 0]), 6, undefined);
  drawToken(row, 1, outputs([0, 0, 0, 1, 0, 0]), 6, undefined);
  expect([row.action.tokens, row.action.logprobs, row.action.masked, accepted]).toEqual([[3, 3], [0, 0], [0], [3, 3]]);
});

test("a distribution that is none is an error that names the weights", () => {
  const parameters = new Map([
    ["good", Float32Array.of(1)],
    ["bad", Float32Array.of(1, Number.NaN)],
  ]);
  const broken = Array(6).fill(Number.NaN);
  expect(() => drawToken(rowOf(), 1, outputs(broken), 6, parameters)).toThrow(/The weights bad have values that are not finite/);
  expect(() => drawToken(rowOf(), 1, outputs(broken), 6, undefined)).toThrow(
    /Weights are not finite, or an activation overflowed/,
  );
  expect(() => drawToken(rowOf(), 1, outputs([0, 0, 1, 0, 0, 0], Number.NaN), 6, new Map())).toThrow(/All weights are finite/);
});

test("rows part by the token that each has drawn, in the order of their draws, and go on where their slot ends", () => {
  const rows = [4, 2, 4, 3].map((token) => Object.assign(rowOf(), { pending: [token] }));
  expect(byToken(rows).map((group) => group.map((row) => rows.indexOf(row)))).toEqual([[0, 2], [1], [3]]);
  const row = rowOf();
  row.action.tokens.push(4);
  adopt(row, [1, 2], [rows[1]]);
  expect([row.tokens, row.pending, row.twins]).toEqual([[1, 2], [3, 4], [rows[1]]]);
  row.pending = [7];
  adopt(row, row.tokens, []);
  expect([row.pending, row.twins]).toEqual([[7], []]);
});
