import "../../test/loopback.ts";
import { rmSync } from "node:fs";
import { afterAll, expect, test, vi } from "vitest";

import { branchingSchema } from "../../src/rollouts/branching/settings.ts";
import { rolloutTrees } from "../../src/rollouts/branching/trees.ts";
import { chat, played, writing } from "../../test/fixtures/written-sampler.ts";

import { answer, asked, environment, file, folder, found, inEvaluation, search, settings } from "./deep-research.fixture.ts";
import { deepResearchEnvironment } from "./deep-research.ts";

// No walls are tried, as no Python starts.
vi.mock(import("../../extensions/tools/python/walls.ts"), async (original) => ({
  ...(await original()),
  walls: () => [],
  isWalled: () => true,
}));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const noResult = " <result>\nNo search results found.\n</result>";

test.each<readonly [string, string, { response?: string; reward: number; calls?: number }]>([
  ["no tools", answer, { reward: 1 }],
  ["a wrong answer", answer.replace("842", "7"), { reward: 0 }],
  ["half of an answer", answer.replace("842", "842 m"), { reward: 2 / 3 }],
  ["no tags", "It is \\boxed{842}.", { reward: -1 }],
  ["nothing", "", { reward: -1 }],
  ["a thought that does not end", "<think>hm <answer>\\boxed{842}</answer>", { reward: -1 }],
  ["two answers", answer + answer, { reward: -1 }],
  ["an answer without a box", "<think>t</think><answer>842</answer>", { reward: -1 }],
  ["a box that does not close", "<think>t</think><answer>} \\boxed{842</answer>", { reward: -1 }],
  ["a call that does not end is none, and lacks its result", `<search>owl peak ${answer}`, { reward: -1, calls: 0 }],
  [
    "a call that does not begin ends the response",
    `owl peak</search>${answer}`,
    { response: "owl peak</search>", reward: -1, calls: 0 },
  ],
  [
    "an empty call ends the response",
    `<search> \n</search>${answer}`,
    { response: "<search> \n</search>", reward: -1, calls: 0 },
  ],
  ["the other tool's closing tag", `<search>1</python>${answer}`, { response: "<search>1</python>", reward: -1, calls: 0 }],
  [
    "a call in a call: what stands behind the last opening tag counts",
    `<search>a<search>owl peak</search>${answer}`,
    { response: `<search>a<search>owl peak</search>${found}${answer}<|im_end|>`, reward: 1, calls: 1 },
  ],
  [
    "a result that the model makes up before the call has ended",
    `<search>owl peak<result>4</result></search>${answer}`,
    { response: `<search>owl peak<result>4</result></search>${noResult}${answer}<|im_end|>`, reward: -1, calls: 1 },
  ],
  [
    "a call that the end of the response cuts off",
    `<think>t</think>${asked("x").replace("</search>", "")}`,
    { reward: -1, calls: 0 },
  ],
  ["tags in another case are no tags", `<SEARCH>owl peak</SEARCH>${answer}`, { reward: 1, calls: 0 }],
  [
    "a fourth call ends the response",
    asked("a") + asked("b") + asked("c") + asked("owl peak") + answer,
    {
      response: `${asked("a")}${noResult}${asked("b")}${noResult}${asked("c")}${noResult}${asked("owl peak")}`,
      reward: -1,
      calls: 3,
    },
  ],
])("%s", async (_, text, expected) => {
  const { response, reward, turns, stopReason } = await played(environment, text);
  expect(stopReason).toBe("done");
  expect(reward).toBeCloseTo(expected.reward, 12);
  if (expected.response !== undefined) expect(response.startsWith(expected.response)).toBe(true);
  if (expected.calls !== undefined) expect(turns.reduce((sum, { toolCalls }) => sum + toolCalls, 0)).toBe(expected.calls);
});

test("limits: of calls, of each tool, of a result's length, of the response", async () => {
  const calls = async (limits: object) => {
    const { turns } = await played(deepResearchEnvironment({ ...settings, limits }), asked("a") + asked("b") + answer);
    return turns.reduce((sum, { toolCalls }) => sum + toolCalls, 0);
  };
  expect(await calls({ calls: 1 })).toBe(1);
  expect(await calls({ search: 1 })).toBe(1);
  expect(await calls({ python: 1 })).toBe(2);
  const short = await played(deepResearchEnvironment({ ...settings, limits: { resultLength: 20 } }), search + answer);
  expect(short.response).toContain("Page 1: The Owl Peak\n[cut: the first 20 of ");
  const cut = await played(deepResearchEnvironment({ ...settings, limits: { responseTokens: 50 } }), search + answer);
  expect(cut).toMatchObject({ stopReason: "max-tokens", reward: -1 });
  expect(cut.response.length).toBeLessThan(short.response.length);
});

test("the evaluation's protocol: results without spaces, limits for each tool and repeated queries refused in words, an end with the answer", async () => {
  const evaluation = deepResearchEnvironment({ ...settings, protocol: "evaluation", limits: { search: 2 } });
  const searches = asked("owl peak") + asked("owl peak") + asked("peaks") + asked("more");
  const { response, turns, stopReason, reward } = await played(evaluation, `${searches}${answer} and more`);
  expect(response).toBe(
    `${asked("owl peak")}<result>Page 1: The Owl Peak is 421 m high.\nPage 2: Owls.</result>` +
      `${asked("owl peak")}<result>Error: This query was searched before. Look at its result above, or ask something else.</result>` +
      `${asked("peaks")}<result>Page 1: Many.</result>` +
      `${asked("more")}<result>Error: The limit of 2 search calls is reached. Go on without it.</result>${answer}`,
  );
  expect(turns.map(({ toolCalls, invalidToolCalls }) => [toolCalls, invalidToolCalls]).slice(0, 4)).toEqual([
    [1, 0],
    [0, 1],
    [1, 0],
    [0, 1],
  ]);
  expect([stopReason, reward]).toEqual(["done", 1]);
  const first = await played(evaluation, `${asked("peaks<search>owl peak")}${answer}`);
  expect(first.messages[2]).toMatchObject({ toolCalls: [{ arguments: { query: "peaks<search>owl peak" } }] });
});
const contents = ({ messages }: Awaited<ReturnType<typeof played>>) => messages.slice(2).map(({ content }) => content);

test("the evaluation takes back a result that the model makes up, and continues behind what it wrote before", async () => {
  const made = await played(inEvaluation, `<think>t</think>hm <result>5</result>${asked("owl peak")}${answer}`);
  expect(contents(made)).toEqual([
    "<think>t</think>hm ",
    `5</result>${asked("owl peak")}`,
    "Page 1: The Owl Peak is 421 m high.\nPage 2: Owls.",
    answer,
  ]);
  expect(made.response).toBe(
    `<think>t</think>hm 5</result>${asked("owl peak")}<result>Page 1: The Owl Peak is 421 m high.\nPage 2: Owls.</result>${answer}`,
  );
  expect(made.turns.map(({ rewritten }) => rewritten)).toEqual([false, true, false]);
  // A call that began before it is read as one.
  const across = await played(inEvaluation, `<search>owl <result>peak</search>${answer}`);
  expect(across.messages[3]).toMatchObject({ content: "peak</search>", toolCalls: [{ arguments: { query: "owl peak" } }] });
  expect(across).toMatchObject({ stopReason: "done", reward: 1 });
});

test("the evaluation asks a model that stops without a closing tag to go on, three times", async () => {
  const goesOn = async (stops: number) => played(inEvaluation, `${"<result>".repeat(stops)}${answer}`);
  expect(contents(await goesOn(3))).toEqual(["", "", "", answer]);
  expect(contents(await goesOn(4))).toEqual(["", "", "", ""]);
  // Of an end of turn nothing is left in the context.
  const { turns, stopReason } = await played(inEvaluation, "hm");
  expect(stopReason).toBe("done");
  expect(turns.map(({ action }) => chat.tokenizer.decode(action))).toEqual(["hm<|im_end|>", ...Array(3).fill("<|im_end|>")]);
  expect(chat.tokenizer.decode(turns[3].context.slice())).toMatch(/assistant\nhm$/);
});

test("answers of mathematics can be held to be the same formula; questions say what they are, or the settings do", async () => {
  const math = file("math.jsonl", `${JSON.stringify({ problem: "Half?", answer: ["7", "\\frac{1}{2}"] })}\n`);
  const half = answer.replace("842", "1/2");
  const rewardOf = async (change: object) =>
    (await played(deepResearchEnvironment({ ...settings, data: { train: math }, ...change }), half)).reward;
  expect(await rewardOf({})).toBe(0);
  expect(await rewardOf({ grader: "by-ability" })).toBe(0);
  expect(await rewardOf({ grader: "by-ability", ability: "math" })).toBe(1);
  expect(await rewardOf({ ability: "math" })).toBe(0);
});

test("the system message is a setting", async () => {
  const { messages } = await played(deepResearchEnvironment({ ...settings, system: "Answer." }), answer);
  expect(messages[0]).toEqual({ role: "system", content: "Answer." });
});

test("episodes are forked by copying them, and the calls of their stem count", async () => {
  const sampler = writing("");
  const branching = branchingSchema.parse({
    entropy: "exact",
    rule: { kind: "paper", alpha: 1, beta: 0, threshold: 0 },
    firstRollouts: 1,
  });
  const task = await environment.task("train", 0);
  const texts = [asked("a"), asked("b"), asked("c"), asked("d")];
  const scripted: typeof sampler = {
    ...sampler,
    sample: (request) =>
      writing(texts[chat.tokenizer.decode(request.context).split("No search results").length - 1]).sample(request),
  };
  const [{ trajectories }] = await rolloutTrees(scripted, chat, environment, [task], {
    ...{ name: "s", groupSize: 3, concurrency: 4, seed: 1, maxTurns: 9, maxTokens: 500, episodeTimeoutMs: 1000, branching },
  });
  expect(trajectories.map(({ branch }) => branch?.by)).toEqual([undefined, "clone", "clone"]);
  for (const { turns, stopReason } of trajectories)
    expect([turns.map(({ toolCalls }) => toolCalls), stopReason]).toEqual([[1, 1, 1, 0], "done"]);
});
