import { expect, test } from "vitest";
import { lettersChat, lettersEnvironment } from "../../../test/letters.ts";
import { ConfigError, EnvError } from "../../core/errors.ts";
import type { Environment } from "../../environments/environment.ts";
import { demonstrationOf, encoded } from "./demonstration.ts";

const chat = lettersChat();
const user = { role: "user", content: "a" } as const;
const answer = { role: "assistant", content: "bc" } as const;
const asked = async (demonstrate: NonNullable<Environment["demonstrate"]>, maxLength = 7, more: Partial<Environment> = {}) => {
  const environment = { ...lettersEnvironment(), demonstrate, ...more } as Environment;
  const task = await environment.task("train", 0);
  return demonstrationOf({ environment, chat, maxLength }, task, 5);
};

test("a task's demonstration is the environment's own, or its expert's", async () => {
  // ua<end>a | bc<end>, of 7 tokens
  const [sample, ...others] = await asked((_, seed) => (seed === 5 ? [user, answer] : []));
  expect(others).toEqual([]);
  expect([...(sample?.context ?? [])].length + (sample?.action.length ?? 0)).toBe(7);
  expect(sample?.action).toEqual([1, 2, 6]);
  expect(sample).toMatchObject({ trajectory: "the demonstration of task train/0", turn: 0 });
  const environment: Environment = { ...lettersEnvironment(), expert: { play: () => ({ messages: [user, answer] }) } as never };
  const byExpert = await demonstrationOf({ environment, chat, maxLength: 7 }, await environment.task("train", 0), 5);
  expect(byExpert.map(({ action }) => action)).toEqual([[1, 2, 6]]);
});

test("a demonstration that teaches nothing, or is not one, is refused with its task and its place", async () => {
  const refused = (messages: unknown, maxLength?: number) => asked(() => messages as never, maxLength);
  await expect(refused([user, answer], 6)).rejects.toThrow(
    new ConfigError("the demonstration of task train/0", "7 tokens", {
      expected: "at most 6, the model's longest sequence",
      hint: "Shorten it, or use a model with a longer context.",
    }),
  );
  for (const messages of [[], [user]])
    await expect(refused(messages)).rejects.toThrow(
      'the demonstration of task train/0 is "without an assistant\'s message"; expected a message to learn from.',
    );
  await expect(refused([user, { ...answer, tool_calls: [] }])).rejects.toThrow(
    'the demonstration of task train/0: 1.tool_calls is "not accepted"; expected no such field: an assistant\'s own message has ',
  );
  await expect(refused("bc")).rejects.toThrow(/task train\/0: what demonstrate\(\) returned is "not accepted"; expected .*array/);
  const own = new ConfigError("expert", "asleep");
  await expect(asked(() => Promise.reject(own))).rejects.toBe(own);
  const broken = asked(() => Promise.reject(new Error("no table")));
  await expect(broken).rejects.toThrow(
    new EnvError("the demonstration of task train/0", new Error("no table"), { expected: "a finished conversation" }),
  );
  await expect(broken).rejects.toMatchObject({ cause: new Error("no table") });
});

test("tools and protocol of the task's episode are those that the demonstration shows", () => {
  const samples = encoded({ chat, maxLength: 100 }, "a conversation", [user, answer, user, answer], []);
  expect(samples.map(({ turn, action }) => [turn, action])).toEqual([
    [0, [1, 2, 6]],
    [1, [1, 2, 6]],
  ]);
  expect(samples[1]?.context).toHaveLength(11);
});
