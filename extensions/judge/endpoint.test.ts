import "../../test/loopback.ts";
import { expect, test } from "vitest";
import { longestTimer } from "../../src/core/timer.ts";
import { openEndpoint } from "./endpoint.ts";
import { judgeServer, type Reaction } from "./server.fixture.ts";
import { type JudgeReward, judgeSettings } from "./settings.ts";

const question = [
  { role: "system", content: "Judge." },
  { role: "user", content: "a?" },
] as const;

async function endpoint(react: (number: number) => Reaction, settings: object = {}, key?: string) {
  const { baseUrl, requests } = await judgeServer((_, number) => react(number));
  const config: JudgeReward = judgeSettings.parse({ kind: "judge", model: "wise", baseUrl, retries: 0, ...settings });
  const warnings: string[] = [];
  return { ask: openEndpoint(config, key, (warning) => warnings.push(warning)), requests, warnings, baseUrl };
}

test("a question is asked for by a schema in which each attempt has an id, a reason and a score", async () => {
  const { ask, requests } = await endpoint(() => ({ content: "yes" }), { temperature: 0 }, "k3y");
  expect(await ask(question)).toEqual({ text: "yes", truncated: false, promptTokens: 100, completionTokens: 20 });
  const { url, headers: _, authorization, ...body } = requests[0] ?? {};
  expect([url, authorization]).toEqual(["/v1/chat/completions", "Bearer k3y"]);
  const text = { type: "string" };
  const score = {
    ...{ type: "object", properties: { id: text, explanation: text, score: { type: "number" } } },
    ...{ required: ["id", "explanation", "score"], additionalProperties: false },
  };
  expect(body).toEqual({
    ...{ model: "wise", messages: question, temperature: 0 },
    response_format: {
      type: "json_schema",
      json_schema: {
        ...{ name: "scores", strict: true },
        schema: {
          ...{ type: "object", properties: { scores: { type: "array", items: score } } },
          ...{ required: ["scores"], additionalProperties: false },
        },
      },
    },
  });
});

test("tokens that the server does not count are a quarter of the characters; a key that it repeats is hidden", async () => {
  const { ask } = await endpoint(() => ({ content: "k3y and more", finish: "length", usage: null }), {}, "k3y");
  // 8 characters of the question, and 18 of "[API key] and more".
  expect(await ask(question)).toEqual({ text: "[API key] and more", truncated: true, promptTokens: 2, completionTokens: 5 });
});

test("a server that refuses the question without the schema too is asked by it again", async () => {
  const { ask, requests, warnings, baseUrl } = await endpoint((number) =>
    number < 3 || number === 4 ? { status: 400 } : { content: "yes" },
  );
  await expect(ask(question)).rejects.toMatchObject({ failure: "refused" });
  expect(warnings).toEqual([]);
  await ask(question);
  expect(requests.map(({ response_format: format }) => format !== undefined)).toEqual([true, false, true]);
  await Promise.all([ask(question)]);
  await ask(question);
  expect(requests.map(({ response_format: format }) => format !== undefined).slice(3)).toEqual([true, false, false]);
  expect(warnings).toEqual([`${baseUrl} does not take a JSON schema for answers of wise: asking without.`]);
});

test("what a judge is if nothing is said", () => {
  const baseUrl = "https://judge.example/v1";
  expect(judgeSettings.parse({ kind: "judge", model: "wise", baseUrl })).toEqual({
    ...{ kind: "judge", weight: 1, of: "group", model: "wise", baseUrl, apiKeyEnv: "OPENAI_API_KEY" },
    ...{ timeoutMs: 60_000, retries: 5, attempts: 3, concurrency: 8, onFailure: "error" },
    rubric:
      "An attempt that reaches the goal of the task is better than one that does not.\n" +
      "Of two that reach it, the one that gets there more directly is better; of two that do not, the one that comes closer.\n" +
      "Claims that the tools' answers do not support, and changes that nobody asked for, make an attempt worse.",
  });
});

test.each<[string, readonly unknown[], readonly unknown[]]>([
  ["of", ["group", "episode"], ["task"]],
  ["model", ["m"], [""]],
  ["baseUrl", ["http://x"], ["ftp://x", "x"]],
  ["apiKeyEnv", [null, "A_KEY"], ["a key", ""]],
  ["rubric", ["r"], [""]],
  ["temperature", [0], [-0.1]],
  ["timeoutMs", [1, longestTimer], [0, longestTimer + 1]],
  ["retries", [0], [-1, 0.5]],
  ["attempts", [1], [0, 1.5]],
  ["concurrency", [1], [0, 1.5]],
  ["onFailure", ["skip-group"], ["skip"]],
  ["cache", ["folder"], [""]],
  ["judge", [], ["x"]],
])("a judge's %s may be %j and not %j", (name, allowed, refused) => {
  const parse = (value: unknown) =>
    judgeSettings.safeParse({ kind: "judge", model: "m", baseUrl: "http://x", [name]: value }).success;
  expect([allowed.map(parse), refused.map(parse)]).toEqual([allowed.map(() => true), refused.map(() => false)]);
});
