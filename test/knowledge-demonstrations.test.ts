import { join } from "node:path";
import { expect, test } from "vitest";
import { demonstrations } from "../research/knowledge/demonstrations.ts";
import { knowledgeEnvironment } from "../research/knowledge/knowledge.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { encodeDemonstration } from "../src/rollouts/demonstration.ts";
import { rollout } from "../src/rollouts/rollout.ts";
import { repeating } from "./repeating-sampler.ts";

const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../models/knowledge")));
const options = { id: "demo", group: "demo", seed: 1, maxTurns: 20, maxTokens: 96, episodeTimeoutMs: 1_000 };

function demos(settings: object, count: number) {
  const source = demonstrations(settings, 5, { slip: 0.3, queries: { full: 1, short: 1, name: 1 } });
  return Array.from({ length: count }, () => source.next().value);
}

test.each([{}, { difficulty: "large", pages: 2, reward: "arpo" }])(
  "a rollout that writes what the expert wrote sees the ids that the demonstration has, and gets its reward: %o",
  async (settings) => {
    const environment = knowledgeEnvironment(settings);
    const played = demos(settings, 60);
    expect(new Set(played.map(({ task }) => task.kind)).size).toBeGreaterThan(6);
    for (const { task, messages, protocol, score } of played) {
      const samples = encodeDemonstration(chat, "demo", messages, [], protocol);
      const { turns, ...rest } = await rollout(repeating(samples), chat, environment, task, options);
      expect(turns.map(({ turn, context, action }) => ({ trajectory: "demo", turn, context, action }))).toEqual(samples);
      expect(rest).toMatchObject({ messages, stopReason: "done", reward: score.reward, scores: score.scores });
      expect(turns.some(({ rewritten, invalidToolCalls }) => rewritten || invalidToolCalls > 0)).toBe(false);
    }
  },
);

test("the tokenizer of the default model has a token for nearly every piece of its world, and calls begin and end with one", () => {
  const texts = (ids: readonly number[]) => ids.map((id) => chat.tokenizer.decode([id]));
  const action = "<think> 4107 </think><search> population port Marl </search>";
  expect(texts(chat.tokenizer.encode(action))).toEqual([
    "<think> ",
    "41",
    "07",
    " </think><search>",
    " population",
    " port",
    " Marl",
    " </search>",
  ]);
  const lengths = demos({}, 100).map(({ messages, protocol }) => {
    const samples = encodeDemonstration(chat, "demo", messages, [], protocol);
    const last = samples[samples.length - 1];
    return last.context.length + last.action.length;
  });
  expect(Math.max(...lengths)).toBeLessThan(220);
});
