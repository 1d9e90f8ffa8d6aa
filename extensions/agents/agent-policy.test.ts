import { expect, test } from "vitest";
import type { ConversationRequest } from "../../src/chat/conversation.ts";
import type { TokenPolicy } from "../../src/environments/environment.ts";
import { HttpError } from "../http/http-error.ts";
import { noThreads } from "../inference/anthropic-messages.ts";
import { unknownRoute } from "../inference/server.ts";
import { servedPolicy } from "./agent-policy.ts";

const request: ConversationRequest = { messages: [{ role: "user", content: "?" }], strictTools: ["find"] };
const { signal } = new AbortController();

/** What a policy with temperature 1, top_p 0.9 and no top_k does with a request that brings settings. */
function served(ownership: "override" | "refuse", canMask = true) {
  const asked: ConversationRequest[] = [];
  const policy = {
    ...{ maxLength: 64, vocabularySize: 8, temperature: 1, topP: 0.9, topK: undefined, canMask },
    ...{ decode: () => "said", count: () => 5, captured: () => ({ auxiliary: [], counts: { forks: 2 } }) },
  } as unknown as TokenPolicy;
  const of = servedPolicy(policy, async (given) => (asked.push(given) > 0 ? "reply" : "") as never, ownership);
  const { chat } = of.model;
  if (chat === undefined) throw new Error("no chat");
  const converse = (sampling: object, continuesLast = false) =>
    chat.converse(request, { sampling: { others: {}, ...sampling }, index: 0, signal, continuesLast });
  return { ...of, chat, asked, converse };
}

test("settings of the run pass, others are overridden and counted", async () => {
  const { converse, counts, asked, chat } = served("override");
  await converse({});
  await converse({ temperature: 1, topP: 0.9 });
  expect(counts()).toMatchObject({ "agent.requests": 2, "agent.overridden": 0, "agent.forks": 2 });
  for (const sampling of [{ temperature: 0 }, { topP: 1 }, { topK: 5 }, { seed: 1 }, { others: { min_p: 0.1 } }])
    expect(await converse(sampling)).toBe("reply");
  expect(counts()).toMatchObject({ "agent.requests": 7, "agent.overridden": 5, "agent.refused": 0 });
  expect(asked.every(({ strictTools }) => strictTools?.join() === "find")).toBe(true);
  expect([chat.count(request, signal), chat.decode([1])]).toEqual([5, "said"]);
  expect(counts()["agent.tokenCounts"]).toBe(1);
});

test.each([
  [{ temperature: 0 }, /temperature is 0; expected 1, the run's own/],
  [{ topP: 1 }, /top_p is 1; expected 0\.9, the run's own/],
  [{ topK: 5 }, /top_k is 5; expected none: sampling belongs to the run/],
  [{ seed: 3 }, /seed is 3; expected none/],
  [{ others: { min_p: 0.1 } }, /min_p is 0\.1/],
])("%j is refused where the run's settings are to be kept", async (sampling, message) => {
  const { converse, asked } = served("refuse");
  await expect(converse(sampling)).rejects.toThrow(message);
  await converse({});
  expect(asked).toHaveLength(1);
});

test("without masks strict tools are as the model writes them: overridden, or refused", async () => {
  const loose = served("override", false);
  await loose.converse({});
  expect([loose.asked[0]?.strictTools, loose.counts()["agent.overridden"]]).toEqual([[], 1]);
  await expect(served("refuse", false).converse({})).rejects.toThrow(/strict is true; expected false, the run's own/);
});

test("an answer is never continued, and token ids are another interface", async () => {
  const { converse, model } = served("override");
  await expect(converse({}, true)).rejects.toThrow("continue_final_message");
  expect(() => model.sample({} as never, signal)).toThrow("POST /v1/chat/completions");
});

test("refusals are kept apart from routes that are not there; one without threads is none", () => {
  const { chat, refusals, unknownRoutes } = served("override");
  chat.refused?.(new HttpError(400, "n", 2));
  chat.refused?.(new HttpError(404, "route", "/embeddings", { code: unknownRoute }));
  chat.refused?.(new HttpError(400, "thread", "x", { code: noThreads }));
  chat.refused?.(new Error("odd"));
  expect([refusals, unknownRoutes]).toEqual([
    [expect.stringContaining("n is 2"), "odd"],
    [expect.stringContaining("/embeddings")],
  ]);
});
