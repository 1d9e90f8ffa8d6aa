import { expect, test } from "vitest";
import { judgeServer } from "../../../extensions/judge/server.fixture.ts";
import { openJudge } from "./judge.ts";

test("fields of the request are the user's: null leaves one out", async () => {
  const { baseUrl, requests } = await judgeServer(() => ({ content: "Correct" }));
  const request = { temperature: null, max_tokens: null, max_completion_tokens: 9 };
  await openJudge({ baseUrl, model: "wise", request })({ question: "Who?", golds: ["Ada"], prediction: "Ada L." });
  expect(requests[0]).toMatchObject({ model: "wise", max_completion_tokens: 9 });
  for (const field of ["temperature", "max_tokens"]) expect(requests[0]).not.toHaveProperty(field);
});

test("a reply that is cut off among its thoughts, or withheld, is no verdict", async () => {
  const cut = { content: "<think>Is it correct? The gold answer", finish: "length" };
  const { baseUrl, requests } = await judgeServer((_, number) => (number < 4 ? cut : { content: "", finish: "content_filter" }));
  const judge = openJudge({ baseUrl, model: "wise", retries: 0 });
  const asked = { question: "Who?", golds: ["Ada"], prediction: "Ada L." };
  expect(await judge(asked)).toBe("unusable");
  expect(await judge({ ...asked, question: "What?" })).toBe("unusable");
  expect(requests).toHaveLength(4);
});
