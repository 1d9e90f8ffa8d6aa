import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { type Behaviour, behaviours } from "./behaviours.ts";
import { demonstrate } from "./demonstrations.ts";
import { type Habit, habits } from "./expert.ts";
import { tasks } from "./office.fixture.ts";

/** Picking the first of two is right half of the time, and so is reading no note where it says "for all". */
const lucky: readonly Habit[] = ["first", "note"];
/** What is chosen does not matter where the tool is closed, nor to whom a message is meant where both have the same deputy. */
const withoutEffect = 0.2;

test.each(habits)("the habit %s costs the reward, and is counted as the behaviour that it leaves out", (habit) => {
  const behaviour = (Object.keys(behaviours) as Behaviour[]).find((name) =>
    (behaviours[name] as readonly Habit[]).includes(habit),
  );
  const slipped = tasks({}, "train", 400)
    .map((task) => demonstrate(task, randomStream(1, task.id), { slip: { [habit]: 1 } }))
    .filter((demonstration) => demonstration.slipped.length > 0);
  expect(slipped.length).toBeGreaterThan(5);
  const rewarded = slipped.filter(({ score }) => score.reward === 1);
  expect(rewarded.length / slipped.length).toBeLessThan(lucky.includes(habit) ? 0.7 : withoutEffect);
  const failed = slipped.filter(({ score }) => score.reward === 0);
  const missed = failed.filter(({ score }) => {
    const count = score.behaviours?.[behaviour ?? ""];
    return typeof count === "object" && count.done < count.called;
  });
  expect(missed.length / failed.length).toBeGreaterThan(0.8);
});
