import { expect, test } from "vitest";
import type { Episode } from "../../src/environments/environment.ts";
import type { EvaluatorRequest } from "../bfcl/evaluator/evaluator.ts";
import { harbourTask } from "../bfcl/fixtures/tasks.fixture.ts";
import { passingAnswers } from "./bfcl-answers.ts";

test("published answers are played turn by turn, and those that pass are written in the OpenAI format", async () => {
  const asked: EvaluatorRequest[] = [];
  const judge = async (request: EvaluatorRequest) => {
    asked.push(request);
    const [name = ""] = String(request.text).split("(");
    return { name, arguments: '{"file_name": "tide.txt"}' };
  };
  const heard: unknown[] = [];
  const schema = { type: "object", properties: { file_name: { type: "string" } } } as const;
  const tools = [{ name: "sort", description: "Sorts.", parameters: schema, execute: () => "" }];
  const episodeOf = (success: number): Episode => {
    let replies = 0;
    return {
      messages: [{ role: "user", content: "Sort tide.txt." }],
      tools: [...tools, { name: "bare", description: "", parameters: { type: "object" }, execute: () => "" }],
      call: (call) => {
        heard.push(call);
        return call.name === "sort" ? { content: "sorted" } : "posted";
      },
      afterTools: (answers, action) => {
        heard.push([answers, action]);
        return undefined;
      },
      reply: (message) => {
        heard.push(message);
        return ++replies === 3 ? { done: true } : { done: false, messages: [{ role: "user", content: `request ${replies}` }] };
      },
      score: () => ({ reward: success, scores: { success } }),
      close: () => void heard.push("closed"),
    };
  };
  const places: unknown[] = [];
  const world = {
    task: (split: string, index: number) => {
      places.push([split, index]);
      return harbourTask;
    },
    start: async (_: unknown, seed: number) => {
      places.push(seed);
      return episodeOf(places.length === 2 ? 1 : 0);
    },
  };
  const lines = await passingAnswers(world, 2, { judge });
  expect(places).toEqual([["train", 0], 0, ["train", 1], 0]);
  expect(asked.slice(0, 2)).toEqual([
    { op: "read", text: "sort(file_name='tide.txt')", parameters: { sort: ["file_name"], bare: [] } },
    { op: "read", text: "post_tweet(content='sorted')", parameters: { sort: ["file_name"], bare: [] } },
  ]);
  const done = { role: "assistant", content: "Done." };
  const call = (name: string) => ({ name, arguments: { file_name: "tide.txt" }, argumentsText: '{"file_name": "tide.txt"}' });
  const called = (name: string) => [call(name), [[], { ...done, toolCalls: [call(name)] }]];
  expect(heard.slice(0, 8)).toEqual([done, ...called("sort"), done, ...called("post_tweet"), done, "closed"]);
  const shown = (id: string, name: string, content: string) => [
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id, type: "function", function: { name, arguments: '{"file_name": "tide.txt"}' } }],
    },
    { role: "tool", tool_call_id: id, content },
  ];
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      messages: [
        { role: "user", content: "Sort tide.txt." },
        ...[done, { role: "user", content: "request 1" }],
        ...shown("call_3", "sort", "sorted"),
        ...[done, { role: "user", content: "request 2" }],
        ...shown("call_7", "post_tweet", "posted"),
        done,
      ],
      tools: [
        { type: "function", function: { name: "sort", description: "Sorts.", parameters: schema } },
        { type: "function", function: { name: "bare", description: "", parameters: { type: "object" } } },
      ],
    },
  ]);
});
