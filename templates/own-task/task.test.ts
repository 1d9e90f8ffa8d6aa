import assert from "node:assert/strict";
import { test } from "node:test";
import { rewardOf, shop } from "./task.ts";

// What goes wrong most often in reinforcement learning is the reward. These tests need no model: npm test.

test("the right answer is rewarded, and no other", () => {
  const question = { kind: "stock", aisle: 3, left: 42 } as const;
  assert.equal(rewardOf(question, "There are 42 left."), 1);
  for (const wrong of ["", "3", "4", "I do not know."]) assert.equal(rewardOf(question, wrong), 0, wrong);
});

test("the expert's conversation ends with a rewarded answer, and its tool results are what the tools say", async () => {
  for (let i = 0; i < 20; i++) {
    const task = await shop.task("train", i);
    const episode = await shop.start(task, 0);
    const messages = (await shop.demonstrate?.(task, 0)) ?? [];
    for (const [at, message] of messages.entries()) {
      const call = message.role === "assistant" ? message.toolCalls?.[0] : undefined;
      if (call === undefined) continue;
      const tool = episode.tools.find(({ name }) => name === call.name);
      const result = await tool?.execute(call.arguments, { signal: AbortSignal.timeout(1000) });
      const answer = messages[at + 1];
      assert.equal(answer?.content, typeof result === "string" ? result : JSON.stringify(result));
    }
    assert.equal((await episode.score(messages)).reward, 1);
  }
});
