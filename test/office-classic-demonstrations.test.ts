import { expect, test } from "vitest";
import { officeClassic as office } from "../recipes/office-classic.ts";
import { trainTokenizer } from "../recipes/tokenizer.ts";
import { makeChat } from "../src/chat/chat.ts";
import { makeTokenizer } from "../src/chat/tokenizer.ts";
import { randomStream } from "../src/core/random.ts";
import { encodeDemonstration } from "../src/rollouts/demonstration.ts";
import { rollout } from "../src/rollouts/rollout.ts";
import { demonstrate } from "../studies/office-classic/demonstrations.ts";
import { officeClassicEnvironment } from "../studies/office-classic/office-classic.ts";
import { repeating } from "./repeating-sampler.ts";

test("a rollout that writes what the expert wrote sees the ids that the demonstration has, and gets its reward", async () => {
  const environment = officeClassicEnvironment();
  const random = randomStream(3, "test");
  const tasks = await Promise.all(Array.from({ length: 60 }, (_, index) => environment.task("train", index)));
  const demos = tasks.map((task) => demonstrate(task, random, { slip: 0.2 }));
  const conversations = demos.map(({ messages }) => messages);
  const chat = makeChat(makeTokenizer(trainTokenizer(conversations, office)));

  for (const [i, { messages, score }] of demos.entries()) {
    const samples = encodeDemonstration(chat, "demo", messages, []);
    const played = await rollout(repeating(samples), chat, environment, tasks[i], {
      id: "demo",
      group: "demo",
      seed: 1,
      maxTurns: 40,
      maxTokens: 200,
      episodeTimeoutMs: 1_000,
    });
    expect(played.turns.map(({ turn, context, action }) => ({ trajectory: "demo", turn, context, action }))).toEqual(samples);
    expect(played.messages).toEqual(messages);
    expect(played).toMatchObject({ stopReason: "done", reward: score.reward });
    expect(played.turns.some(({ rewritten, invalidToolCalls }) => rewritten || invalidToolCalls > 0)).toBe(false);
  }
});
