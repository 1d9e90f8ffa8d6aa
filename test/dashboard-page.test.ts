import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ago, intervalText, pointsText, scoreText, signed, smooth } from "../dashboard/src/format.ts";
import { visible } from "../dashboard/src/visible-text.ts";

const [success, reward] = [{ measure: "success" }, { measure: "reward" }] as const;

test("a success is in per cent, a reward is a number", () => {
  expect([scoreText(0.8364, success), scoreText(0.8364, reward), scoreText(null, success), scoreText(null, reward)]).toEqual([
    ...["83.6 %", "0.836", "–", "–"],
  ]);
  expect([intervalText({ low: 0.836, high: 0.921 }, success), intervalText({ low: -0.5, high: 2 }, reward)]).toEqual([
    ...["83.6 to 92.1 %", "-0.5 to 2"],
  ]);
  // Rounded outwards: an interval below 100 % never reads as 100.
  expect(intervalText({ low: 0.83699, high: 0.99991 }, success)).toBe("83.6 to 100.0 %");
});

test("differences and changes have their signs", () => {
  expect([pointsText(0.125), pointsText(-0.125), pointsText(0)]).toEqual(["+12.5 points", "−12.5 points", "+0.0 points"]);
  expect([signed(1.23456), signed(-1.23456), signed(0), signed(-2, 1), signed(1.25, 2)]).toEqual([
    "+1.23",
    "−1.23",
    "±0",
    "−2",
    "+1.3",
  ]);
  expect([signed(null), signed(undefined), signed(Number.NaN)]).toEqual(["–", "–", "–"]);
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-10T12:00:00Z") });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["2026-03-10T11:58:31Z", "just now"],
  ["2026-03-10T11:58:30Z", "2 min ago"],
  ["2026-03-10T10:30:01Z", "90 min ago"],
  ["2026-03-10T10:30:00Z", "2 h ago"],
  ["2026-03-09T00:00:01Z", "36 h ago"],
  ["2026-03-09T00:00:00Z", "2026-03-09"],
])("%s was %s", (iso, text) => {
  expect(ago(iso)).toBe(text);
});

test("a moving average is corrected for its start, and gaps stay gaps", () => {
  expect(smooth([1, null, 3], 0)).toEqual([1, null, 3]);
  // Half and half: 1; then (1/4 + 3/2) / (3/4); then (1/8 + 3/4 + 5/2) / (7/8).
  const [first, gap, second, third] = smooth([1, null, 3, 5], 0.5);
  expect([first, gap]).toEqual([1, null]);
  expect(second).toBeCloseTo(7 / 3, 12);
  expect(third).toBeCloseTo(27 / 7, 12);
});

test("characters that steer or hide text are shown as signs, spaces and lines are not", () => {
  const steering = [0, 8, 0x0b, 0x1b, 0x7f, 0x9f, 0x61c, 0x200b, 0x200f, 0x202a, 0x202e, 0x2060, 0x2069, 0xfeff, 0xd800];
  for (const code of steering) expect([code, visible(`a${String.fromCharCode(code)}b`)]).toEqual([code, "a\ufffdb"]);
  const plain = "a\t\n b é \u00a0 \u2029 \u202f \u205f \u206a 😀";
  expect(visible(plain)).toBe(plain);
});
