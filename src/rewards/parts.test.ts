import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../test/reals.ts";
import { createRewards } from "./create.ts";
import { type EpisodeShape, episode, groupOf, quiet } from "./episodes.fixture.ts";
import type { RewardConfig } from "./kinds.ts";
import type { PartScores } from "./reward.ts";

/** The score of one episode by one reward. */
function scoreOf(shape: EpisodeShape, config: RewardConfig): number {
  const [part] = createRewards([config], { code: [], limits: {}, timeoutMs: 1000, folder: "not-used", env: {} });
  const given = part.score([{ ...groupOf("g", [episode(shape)]), task: { id: "t" } }], quiet) as PartScores;
  return given.values[0]?.[0] ?? Number.NaN;
}

const format = { kind: "format", weight: 1, toolCalls: false, tags: [] as string[] } as const;

test("length: nothing up to the allowance, then so much a token, up to the cap", () => {
  const config = { kind: "length", weight: 1, free: 100, perToken: 0.01, cap: 0.5 } as const;
  const cost = (...actions: number[]) => scoreOf({ actions }, config);
  expect(cost(60, 40)).toBe(0);
  expect(cost(60, 41)).toBeCloseTo(-0.01);
  expect(cost(120, 10)).toBeCloseTo(-0.3);
  expect(cost(1000)).toBe(-0.5);
});

test("length: never positive, never below the cap, and never less for a token more", () => {
  fc.assert(
    fc.property(fc.nat(400), fc.nat(200), real(1e-4, 0.1), (tokens, free, perToken) => {
      const config = { kind: "length", weight: 1, free, perToken, cap: 1 } as const;
      const [shorter, longer] = [tokens, tokens + 1].map((n) => scoreOf({ actions: [n] }, config));
      expect(shorter).toBeLessThanOrEqual(0);
      expect(longer).toBeLessThanOrEqual(shorter);
      expect(longer).toBeGreaterThanOrEqual(-1);
    }),
  );
});

test("tool-cost: by the tool's name, else the price of all; names of objects' own are no prices", () => {
  const config = { kind: "tool-cost", weight: 1, perCall: 0.01, tools: { search: 0.2 } } as const;
  expect(scoreOf({ calls: ["find", "search", "search"] }, config)).toBeCloseTo(-0.41);
  expect(scoreOf({ calls: ["toString"] }, config)).toBeCloseTo(-0.01);
  expect(scoreOf({}, config)).toBe(0);
});

test("format: the share of valid calls; 1 where none was made", () => {
  const share = (shape: EpisodeShape) => scoreOf(shape, { ...format, toolCalls: true });
  expect(share({ calls: ["a", "b", "c", "d"], invalid: 1 })).toBe(0.75);
  expect(share({ calls: ["a"], invalid: 1 })).toBe(0);
  expect(share({})).toBe(1);
});

test.each([
  ["The answer is 7.", 1],
  ["The answer\nis 7.", 1],
  ["I do not know.", 0],
])("format: the pattern in %j", (says, score) => {
  expect(scoreOf({ says }, { ...format, pattern: "answer.is \\d" })).toBe(score);
});

test.each([
  ["<plan>look</plan> <answer>7</answer>", 1],
  ["<answer>7</answer> <plan>look</plan>", 0],
  ["<plan>look</plan> <answer>7", 0],
  ["<plan>a</plan> <plan>b</plan> <answer>7</answer>", 0],
  ["</plan><plan> <answer>7</answer>", 0],
  ["7", 0],
])("format: the tags in %j", (says, score) => {
  expect(scoreOf({ says }, { ...format, tags: ["plan", "answer"] })).toBe(score);
});

test("format: several checks count the same", () => {
  const config = { ...format, toolCalls: true, pattern: "^\\d+$", tags: ["answer"] };
  expect(scoreOf({ says: "7", calls: ["a", "b"], invalid: 1 }, config)).toBeCloseTo((0.5 + 1 + 0) / 3);
});
