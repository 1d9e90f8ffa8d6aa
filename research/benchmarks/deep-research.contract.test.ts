import { rmSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { createPython } from "../../extensions/tools/python/python.ts";
import { searchTool } from "../../extensions/tools/search/search.ts";
import { defineEnvironment } from "../../src/environments/define.ts";

import { chat, played } from "../../test/fixtures/written-sampler.ts";
import { researchProtocol } from "../arpo-protocol/protocol.ts";
import { researchReward } from "../arpo-protocol/reward.ts";
import { answer, asked, environment, folder, found, inEvaluation, python, search } from "./deep-research.fixture.ts";

import { recordedSearch } from "./web/recorded.ts";

afterAll(() => rmSync(folder, { recursive: true, force: true }));
const calculated = " <result>\n842\n</result>";

test("an episode with the real Python tool and recorded searches: one text, of which the model's own is trained on", async () => {
  const { response, turns, reward, scores, stopReason, messages } = await played(environment, search + python + answer);
  expect(response).toBe(`${search}${found}${python}${calculated}${answer}<|im_end|>`);
  expect(turns.map(({ action }) => chat.tokenizer.decode(action))).toEqual([search, python, `${answer}<|im_end|>`]);
  expect(turns.map(({ toolCalls, invalidToolCalls }) => [toolCalls, invalidToolCalls])).toEqual([
    [1, 0],
    [1, 0],
    [0, 0],
  ]);
  expect(stopReason).toBe("done");
  expect(reward).toBeCloseTo(1.1, 12);
  const calls = { searches: 1, calculations: 1, outputLength: (search + python + answer).length + 2 };
  expect(scores).toEqual({ success: 1, format: 1, bothTools: 1, em: 1, acc: 1, f1: 1, mathEqual: 1, ...calls });
  expect(messages.slice(0, 2)).toEqual([
    { role: "system", content: expect.stringContaining("<search> query </search>") },
    { role: "user", content: "How high is the Owl Peak, twice?" },
  ]);
  expect(messages[4]).toMatchObject({
    role: "assistant",
    toolCalls: [{ name: "python", arguments: { code: "h = 421\n2 * h" } }],
  });
});

test("an own environment may use the protocol and its reward", async () => {
  const tools = [
    searchTool(recordedSearch({ "owl peak": "Page 1: The Owl Peak is 421 m high." })),
    createPython({ interpreters: 1 }).tool,
  ];
  const own = defineEnvironment({
    name: "own",
    tasks: { train: [{ prompt: "How high is the Owl Peak, twice?" }] },
    start: () => ({ tools, protocol: researchProtocol(), reward: ({ response }) => researchReward(response, ["842"]).reward }),
  });
  const { response, reward, turns } = await played(own, search + python + answer);
  const once = " <result>\nPage 1: The Owl Peak is 421 m high.\n</result>";
  expect(response).toBe(`${search}${once}${python}${calculated}${answer}<|im_end|>`);
  expect(reward).toBeCloseTo(1.1, 12);
  expect(turns).toHaveLength(3);
});

test("in the evaluation an empty call is made, and answered", async () => {
  const { messages } = await played(inEvaluation, `<python> </python></search>${asked("")}${answer}`);
  expect(messages.slice(2).map(({ content }) => content)).toEqual([
    "<python> </python>",
    "Tool(python) returned empty output.",
    "</search>",
    "No search results found.",
    asked(""),
    expect.stringMatching(/^Error: This query was searched before/),
    answer,
  ]);
});

test("a call that begins before the other tool's, and ends behind it, is the other tool's", async () => {
  const { response, reward } = await played(environment, `<search><python>1</python>${answer}</search>${answer}`);
  // Its own closing tag then calls with the whole text between them, which finds nothing.
  const ownCall = `<search><python>1</python> <result>\n1\n</result>${answer}</search>`;
  expect(response).toBe(`${ownCall} <result>\nNo search results found.\n</result>${answer}<|im_end|>`);
  expect(reward).toBe(-1);
});
