import { expect, test } from "vitest";
import type { Habit } from "./expert.ts";
import { anyQuery, play, settingsOf } from "./kinds.fixture.ts";
import { type KindName, kindNames, kindOf } from "./kinds.ts";
import { drawTask } from "./task.ts";

test.each(["small", "default", "large"] as const)("the expert answers every question of the %s world", (difficulty) => {
  for (const split of ["train", "validation", "test", "challenge"] as const) {
    const played = play({ difficulty }, 150, { queries: anyQuery }, split);
    expect(played.filter(({ score }) => score.reward !== 1).map(({ task }) => task.id)).toEqual([]);
    const rewarded = play({ difficulty, reward: "arpo" }, 50, {}, split).map(({ score }) => score.reward);
    expect(rewarded.every((reward) => reward === 1 || reward === 1.1)).toBe(true);
  }
});

test.each(kindNames)(
  "%s: the expert makes the calls that it takes, and with every habit it fails at times, not always",
  (kind) => {
    const { domain, hops } = kindOf(kind);
    const chains = kind === "more" || kind === "total" || kind === "chained_more" ? 2 : 1;
    for (const { score, task } of play({ kinds: [kind] }, 40, {})) {
      expect(task.kind).toBe(kind);
      expect(score.scores?.searches).toBe(domain === "calculation" ? 0 : hops * chains);
      expect(score.scores?.calculations).toBe(kind === "steps" ? 2 : domain === "knowledge" ? 0 : 1);
    }
    const careless = play({ kinds: [kind] }, 200, { slip: 0.4, queries: anyQuery }).map(({ score }) => score.reward);
    const share = careless.reduce((sum, reward) => sum + reward, 0) / careless.length;
    expect(share).toBeGreaterThan(0);
    expect(share).toBeLessThan(0.95);
  },
);

test("a habit that is not named is not fallen into", () => {
  const slipped = new Set<Habit>(play({}, 300, { slip: { early: 0.5 } }).flatMap((played) => played.slipped));
  expect([...slipped]).toEqual(["early"]);
});

test("questions of each kind, written out", () => {
  const examples = Object.fromEntries(
    kindNames.map((kind): [KindName, string] => [
      kind,
      drawTask(settingsOf({ kinds: [kind], ambiguity: 0 }), "test", 0).question,
    ]),
  );
  expect(examples).toMatchInlineSnapshot(`
    {
      "calculate": "How many coins has Vera Berg with 70 coins and 95 more?",
      "chained_more": "How much more is the area of the home of Jan Jones than the area of the home of Zoe Fox?",
      "chained_times": "Multiply the age of the mayor of Elmar by 74.",
      "fact": "What is the maker of Halo?",
      "four_hops": "Find out the age of the mayor of the seat of the employer of Hugo Ellis.",
      "more": "By how much is the age of Zoe Fox above the age of Yara Khan?",
      "steps": "How much is left when 62 people pay 71 coins each and Max Ito takes 67 of it?",
      "three_hops": "Find out the mayor of the home of the boss of Gorst.",
      "times": "Multiply the age of Rosa Ito by 56.",
      "total": "Add the price of Cirro to the price of Glint.",
      "two_hops": "Find out the population of the capital of Ruvia.",
    }
  `);
});
