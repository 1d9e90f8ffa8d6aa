import { expect, test } from "vitest";
import { habits } from "./expert.ts";
import { anyQuery, play } from "./kinds.fixture.ts";

test("every habit costs the answer nearly always", () => {
  const played = play({ difficulty: "large", disputes: 0.5 }, 1500, { slip: 0.3, queries: anyQuery });
  for (const habit of habits) {
    const alone = played.filter(({ slipped }) => slipped.length === 1 && slipped[0] === habit);
    expect(alone.length, habit).toBeGreaterThan(10);
    const right = alone.filter(({ score }) => score.reward === 1).length;
    expect(right / alone.length, habit).toBeLessThan(0.15);
  }
  const without = played.filter(({ slipped }) => slipped.length === 0);
  expect(without.every(({ score }) => score.reward === 1)).toBe(true);
});
