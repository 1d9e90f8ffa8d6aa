import { expect, test } from "vitest";
import type { z } from "zod";
import { type Demonstration, demonstrations } from "./demonstrations.ts";
import { type Habit, habits } from "./expert.ts";
import { toolsOn } from "./tools.ts";

function take(count: number, generator: Generator<Demonstration>): Demonstration[] {
  return Array.from({ length: count }, () => generator.next().value as Demonstration);
}

test("the seed decides every demonstration", () => {
  const conversations = (seed: number) =>
    take(20, demonstrations({}, seed, { slip: 0.3 })).map(({ messages, slipped }) => ({ messages, slipped }));
  expect(conversations(3)).toEqual(conversations(3));
  expect(conversations(4)).not.toEqual(conversations(3));
});

test("without slips every demonstration is rewarded", () => {
  for (const { slipped, score } of take(300, demonstrations({}, 1))) expect([slipped, score.reward]).toEqual([[], 1]);
});

test("every call is answered, and every demonstration ends with words", () => {
  for (const { messages } of take(200, demonstrations({ difficulty: "large" }, 2, { slip: 0.4 }))) {
    for (const [i, message] of messages.entries()) {
      if (message.role !== "assistant") continue;
      if (message.toolCalls === undefined) expect(message.content).not.toBe("");
      else expect(messages[i + 1]).toMatchObject({ role: "tool", name: message.toolCalls[0].name });
    }
    expect(messages.at(-1)).toMatchObject({ role: "assistant" });
    expect(messages.at(-1)).not.toHaveProperty("toolCalls");
  }
});

test("calls keep to their schemas", () => {
  for (const { messages, task } of take(200, demonstrations({ difficulty: "large" }, 3, { slip: 0.4 }))) {
    const tools = toolsOn(task.world);
    for (const message of messages) {
      for (const call of message.role === "assistant" ? (message.toolCalls ?? []) : []) {
        const schema = tools.find(({ name }) => name === call.name)?.parameters;
        expect((schema as z.ZodType).parse(call.arguments)).toEqual(call.arguments);
      }
    }
  }
});

/** What is right by luck now and then: the condition held, or the first of that name was meant. */
const lucky: readonly Habit[] = ["check", "first"];
/** What matters where something must be refused. Elsewhere a refusal may come out right for a wrong reason. */
const aboutRefusals: readonly Habit[] = ["unknown", "locked", "overdraw"];
/** What belongs to follow-ups. */
const second: readonly Habit[] = ["ask", "same", "duplicate"];

test.each(habits)("the habit %s costs the reward", (habit) => {
  const requests = second.includes(habit) ? 2 : 1;
  const settings = { difficulty: "large", requests: { min: requests, max: requests } };
  const slips = take(2000, demonstrations(settings, 4, { slip: { [habit]: 0.7 } })).filter(
    ({ slipped, task }) =>
      slipped.length === 1 && task.requests.at(-1)?.closing.startsWith("Sorry") === aboutRefusals.includes(habit),
  );
  const rewarded = slips.filter(({ score }) => score.reward === 1);
  expect(slips.length).toBeGreaterThan(10);
  if (lucky.includes(habit)) expect(rewarded.length / slips.length).toBeLessThan(0.7);
  else expect(rewarded.map(({ messages }) => messages)).toEqual([]);
});

test("no kind is solved in more than 80 % by an expert that slips one time in three", () => {
  const sums = new Map<string, [number, number]>();
  for (const { score } of take(3000, demonstrations({ difficulty: "large" }, 5, { slip: 1 / 3 }))) {
    for (const [name, value] of Object.entries(score.scores ?? {})) {
      if (!name.startsWith("kind.")) continue;
      const [sum, count] = sums.get(name) ?? [0, 0];
      sums.set(name, [sum + value, count + 1]);
    }
  }
  expect([...sums].filter(([, [sum, count]]) => sum / count > 0.8)).toEqual([]);
});

test("slips do not change which tasks are demonstrated", () => {
  const ids = (slip: number) => take(20, demonstrations({}, 6, { slip })).map(({ task }) => task.id);
  expect(ids(0.5)).toEqual(ids(0));
});
