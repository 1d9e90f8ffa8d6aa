import { expect, test } from "vitest";
import type { Message } from "../../src/core/messages.ts";
import { defineEnvironment } from "../../src/environments/define.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { measureOverlap } from "./overlap.ts";

const prompts = (...texts: readonly string[]) => texts.map((prompt) => ({ prompt }));
const environmentOf = (tasks: Readonly<Record<string, { prompt: string }[]>>, more: Partial<Environment> = {}): Environment => ({
  ...(defineEnvironment({ name: "words", tasks: tasks as never, start: () => ({ tools: [], reward: () => 0 }) }) as Environment),
  ...more,
});

test("the texts of each other split are counted once, and those that training has", async () => {
  const environment = environmentOf({
    train: prompts("a", "b", "c"),
    validation: prompts("d"),
    test: prompts("a", "c", "e", "f"),
  });
  expect(await measureOverlap(environment, 1, { train: 9, others: 9 })).toEqual([
    { split: "validation", texts: 1, shared: 0 },
    { split: "test", texts: 4, shared: 2 },
  ]);
  expect((await measureOverlap(environment, 1, { train: 9, others: 1 })).map(({ texts }) => texts)).toEqual([1, 1]);
});

test("all of a long training split is looked at, and as much of it as is asked for", async () => {
  const many = Array.from({ length: 501 }, (_, i) => `text ${i}`);
  const environment = environmentOf({ train: prompts(...many), test: prompts(...many) });
  const shared = async (train: number) => (await measureOverlap(environment, 1, { train, others: 501 }))[0]?.shared;
  // No training task comes twice before all have come.
  expect([await shared(501), await shared(500), await shared(1)]).toEqual([501, 500, 1]);
});

test("an expert's conversation has the user's later texts, and its beginning where the expert has that", async () => {
  const says = (role: "user" | "assistant", content: string): Message => ({ role, content }) as Message;
  const playing = (...messages: readonly Message[]) =>
    environmentOf(
      { train: prompts("a"), test: prompts("a") },
      { expert: { behaviours: [], play: () => ({ messages, score: { reward: 1 } }) } as never },
    );
  const texts = async (environment: Environment) =>
    (await measureOverlap(environment, 1, { train: 1, others: 1 })).map(({ texts, shared }) => [texts, shared]);
  // "a", then "later": what the environment begins with is not in the expert's own part.
  expect(await texts(playing(says("assistant", "Which?"), says("user", "later")))).toEqual([[2, 2]]);
  // What the expert was asked is its first message.
  expect(await texts(playing(says("user", "asked"), says("assistant", "Which?"), says("user", "later")))).toEqual([[2, 2]]);
  expect(await texts(playing(says("user", "asked"), says("assistant", "Done.")))).toEqual([[1, 1]]);
  expect(await texts(playing())).toEqual([[1, 1]]);
});
