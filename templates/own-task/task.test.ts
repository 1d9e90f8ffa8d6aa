import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Return, rightDecision, shop, startReturn } from "./task.ts";

// What goes wrong most often in reinforcement learning is the reward. These tests need no model: npm test.

const lamp: Return = {
  prompt: "The Lamp does not work.",
  kind: "broken",
  item: "Lamp",
  wish: "broken",
  purchase: { id: "e42", guarantee: false },
};
const context = { signal: AbortSignal.timeout(10_000) };

/** Calls tools in a fresh episode. @returns their answers, and the reward */
async function play(task: Return, calls: readonly (readonly [string, Record<string, string>])[]) {
  const { tools, reward } = startReturn(task);
  const answers: unknown[] = [];
  for (const [name, args] of calls) {
    const tool = tools.find((each) => each.name === name);
    assert.ok(tool, `there is a tool ${name}`);
    answers.push(await Promise.resolve(args).then((given) => tool.execute(given as never, context)));
  }
  return { answers, reward: reward() };
}

test("the right decision is rewarded, and no other", async () => {
  assert.equal((await play(lamp, [["repair", { id: "e42" }]])).reward, 1);
  assert.equal((await play(lamp, [])).reward, 0, "nothing done");
  assert.equal((await play(lamp, [["refund", { id: "e42" }]])).reward, 0, "the wrong decision");
  const both = [
    ["refund", { id: "e42" }],
    ["repair", { id: "e42" }],
  ] as const;
  assert.equal((await play(lamp, both)).reward, 0, "every decision, to be sure");
  await assert.rejects(play(lamp, [["repair", { id: "e43" }]]), /no such purchase/);
});

test("each decision is right in some task, so none is rewarded always", async () => {
  const tasks = await Promise.all(Array.from({ length: 50 }, (_, i) => shop.task("train", i)));
  const right = tasks.map(({ request }) => rightDecision(request));
  for (const decision of ["refund", "exchange", "repair"] as const)
    assert.ok(right.filter((each) => each === decision).length > 5, decision);
});

test("the demonstrations call tools as they are, and show what the tools answer", async () => {
  const lines = readFileSync(new URL("demonstrations.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n");
  assert.equal(lines.length, 20);
  for (const line of lines) {
    const messages: { role: string; content?: string; tool_calls?: { function: { name: string; arguments: string } }[] }[] =
      JSON.parse(line).messages;
    const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function));
    const shown = messages.filter(({ role }) => role === "tool").map(({ content }) => content ?? "");
    const item = JSON.parse(calls[0].arguments).item;
    const { answers } = await play(
      { ...lamp, item, purchase: JSON.parse(shown[0]) },
      calls.map(({ name, arguments: args }) => [name, JSON.parse(args)]),
    );
    assert.deepEqual(
      answers.map((answer) => (typeof answer === "string" ? answer : JSON.stringify(answer))),
      shown,
    );
  }
});
