import { expect, test } from "vitest";
import { numbersInTurn, Turns } from "./turns.ts";

test("pieces follow each other, small arrays share a turn, and no turn has more numbers than there are for one", async () => {
  let turns = 0;
  let counting = true;
  const count = () => {
    turns++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const pieces: [number, number][] = [];
  const work = new Turns();
  await work.over(3 * numbersInTurn + 5, (from, to) => pieces.push([from, to]), 4);
  const ofLarge = turns;
  expect(ofLarge).toBeGreaterThanOrEqual(3);
  for (let i = 0; i < 50; i++) await work.over(10, () => {});
  expect(turns).toBe(ofLarge);
  counting = false;
  pieces.forEach(([from, to], i) => {
    expect(from).toBe(pieces[i - 1]?.[1] ?? 0);
    expect(to - from).toBeLessThanOrEqual(numbersInTurn);
    expect(from % 4).toBe(0);
  });
  expect(pieces.at(-1)?.[1]).toBe(3 * numbersInTurn + 5);
});
