import { expect, test } from "vitest";
import type { Heard } from "./heard.ts";
import { trajectoryOf } from "./trajectory.ts";

const of = { id: "after-test-0/0/0", group: "test/0", task: "test/ab", prompt: "When?" };
const scored = { kind: "score", reward: 0.5, success: false } as const;
const heard = (answer: Partial<Heard["answer"]>, more: Partial<Heard> = {}): Heard => ({
  ...{ messages: [{ role: "user", content: "When?" }], tools: ["find"], isCut: false, ...more },
  answer: { role: "assistant", content: "", ...answer },
});

test("the last conversation is shown, with a turn for each answer, its tokens and its calls", () => {
  const call = (name: string, args: object, argumentsText?: string) => ({
    name,
    arguments: args as Record<string, unknown>,
    argumentsText,
  });
  const usage = { promptTokens: 5, completionTokens: 2 };
  const toolCalls = [
    call("find", { of: 1 }),
    call("fly", { of: 1 }),
    call("find", {}),
    call("find", {}, " { } "),
    call("find", {}, "{of"),
  ];
  const episode = trajectoryOf(of, {
    ...{ outcome: scored, answer: { value: "At 2." } },
    exchanges: [heard({ toolCalls }, { usage, isCut: true }), heard({ content: "At 2." })],
  });
  expect(episode).toMatchObject({
    ...{ id: of.id, group: of.group, task: of.task, reward: 0.5, scores: {}, stopReason: "done", answer: { value: "At 2." } },
    messages: [
      { role: "user", content: "When?" },
      { role: "assistant", content: "At 2." },
    ],
  });
  // A tool that was not shown, and arguments that are no JSON.
  expect(episode.turns).toMatchObject([
    { trajectory: of.id, turn: 0, toolCalls: 5, invalidToolCalls: 2, truncated: true, usage },
    { trajectory: of.id, turn: 1, toolCalls: 0, invalidToolCalls: 0, truncated: false },
  ]);
  expect(episode.turns[1]).not.toHaveProperty("usage");
  expect(episode).not.toHaveProperty("error");
});

test.each([
  [{ value: "At 2." }, [{ role: "assistant", content: "At 2." }]],
  [{ value: { at: 2 } }, [{ role: "assistant", content: '{"at":2}' }]],
  [{ left: "it has a bigint" }, [{ role: "assistant", content: "(not kept: it has a bigint)" }]],
  [{ value: undefined }, []],
  [undefined, []],
])("without a model that was listened to, it is the task and the answer %j", (answer, said) => {
  const { messages, turns } = trajectoryOf(of, { outcome: scored, answer, exchanges: [] });
  expect([messages, turns]).toEqual([[{ role: "user", content: "When?" }, ...said], []]);
});

test("an error of a server has no score, an agent's own is its failure", () => {
  const end = (outcome: Parameters<typeof trajectoryOf>[1]["outcome"]) => {
    const { reward, stopReason, error } = trajectoryOf(of, { outcome, answer: undefined, exchanges: [] });
    return [reward, stopReason, error];
  };
  expect(end({ kind: "error", error: "503" })).toEqual([0, "environment-error", "503"]);
  expect(end({ ...scored, reward: 0, failure: "no order" })).toEqual([0, "agent-error", "no order"]);
});
