import "../../install.ts";
import { expect, test } from "vitest";
import { environment, replay } from "./shop.fixture.ts";

test("a third of a demonstration's choices is wrong", async () => {
  const solved: number[] = [];
  for (let i = 0; i < 200; i++) {
    const task = await environment.task("train", i);
    solved.push((await replay(task, (await environment.demonstrate?.(task, i)) ?? [])).reward);
  }
  const right = solved.filter((reward) => reward === 1).length / solved.length;
  // Of columns two thirds are right. So are customers, and of half of the orders two thirds of what is done about the rest: 0.61 with 0.03 of error.
  expect(right).toBeGreaterThan(0.51);
  expect(right).toBeLessThan(0.71);
});
