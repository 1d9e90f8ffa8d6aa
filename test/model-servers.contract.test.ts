import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { openJudge } from "../research/benchmarks/cli/judge.ts";
import type { Environment } from "../src/environments/environment.ts";
import { endpointActor } from "../src/rollouts/actors/endpoint-actor.ts";
import { rolloutBy } from "../src/rollouts/rollout.ts";
import { defineTool } from "../src/tools/tool.ts";

/** A published server of chat completions, aimock, in front of what asks one. `.ci/agent-sdks` installs it. */
const program = join(process.env.RETROGRADE_AGENT_SDKS ?? "", "node_modules/@copilotkit/aimock/dist/index.js");
const why = existsSync(program) ? "" : " [RETROGRADE_AGENT_SDKS has no aimock]";

/** The part of its interface that is used here. */
interface Mock {
  readonly url: string;
  addFixture(fixture: { readonly match: object; readonly response: object }): void;
  start(): Promise<unknown>;
  stop(): Promise<void>;
}

const add = defineTool({
  name: "add",
  description: "Adds.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const asking = (content: string): Environment => ({
  name: "sums",
  size: () => 1,
  task: () => ({ id: "t" }),
  start: () => ({
    messages: [{ role: "user", content }],
    tools: [add],
    reply: () => ({ done: true }),
    score: (conversation) => ({ reward: Number(conversation.at(-1)?.content === "Done.") }),
  }),
});
const call = (text: string) => ({ name: "add", arguments: text });
const answers = {
  parallel: { toolCalls: [call('{"a":1,"b":2}'), call('{"a":3,"b":4}')] },
  malformed: { toolCalls: [call('{"a":1,')] },
  "not valid JSON": { content: "Done." }, // what the model is told of such a call
  withheld: { content: "", finishReason: "content_filter" },
  broken: { content: "", finishReason: "error" },
  "thinks long": { content: "<think>Is it correct?", finishReason: "length" },
  uncounted: { content: "Done.", usage: { prompt_tokens: 0, completion_tokens: 0 } },
};

describe.skipIf(why !== "")(`aimock answers${why}`, () => {
  let mock: Mock;
  const settings = () => ({ baseUrl: `${mock.url}/v1`, model: "gpt-4o", retries: 1, retryDelayMs: 1 });
  const play = (request: string) =>
    rolloutBy(
      endpointActor(settings()),
      asking(request),
      { id: "t" },
      {
        ...{ id: "e/0", group: "e", seed: 1, maxTurns: 4, maxTokens: 50, episodeTimeoutMs: 10_000, temperature: 0.5 },
      },
    );

  beforeAll(async () => {
    const { LLMock } = (await import(pathToFileURL(program).href)) as { LLMock: new (options: object) => Mock };
    mock = new LLMock({ port: 0, host: "127.0.0.1" });
    mock.addFixture({ match: { hasToolResult: true }, response: { content: "Done." } });
    for (const [userMessage, response] of Object.entries(answers)) mock.addFixture({ match: { userMessage }, response });
    const busy = { error: { message: "Rate limited", type: "rate_limit_error" }, status: 429 };
    mock.addFixture({ match: { userMessage: "busy", sequenceIndex: 0 }, response: busy });
    mock.addFixture({ match: { userMessage: "busy", sequenceIndex: 1 }, response: { content: "Done." } });
    await mock.start();
  });
  afterAll(() => mock.stop());

  test("with calls at once: each is made and answered", async () => {
    const { reward, messages } = await play("parallel");
    expect(messages.filter(({ role }) => role === "tool").map(({ content }) => content)).toEqual(["3", "7"]);
    expect(reward).toBe(1);
  });

  test("with a call that is no JSON: it is counted and not made", async () => {
    expect(await play("malformed")).toMatchObject({ reward: 1, turns: [{ toolCalls: 0, invalidToolCalls: 1 }, {}] });
  });

  test("429, and then the answer: it counts once", async () => {
    expect(await play("busy")).toMatchObject({ reward: 1, turns: [{ usage: { completionTokens: expect.any(Number) } }] });
  });

  test("with what is no answer: it is never an empty one", async () => {
    expect(await play("withheld")).toMatchObject({ stopReason: "actor-error", error: expect.stringMatching(/content_filter/) });
    await expect(play("broken")).rejects.toThrow(/finish_reason is error.*asked 2 times/);
    expect((await play("uncounted")).turns[0].usage).toBeUndefined();
  });

  test("a judge's question with thoughts that are cut off: no verdict", async () => {
    expect(await openJudge(settings())({ question: "thinks long", golds: ["a"], prediction: "b" })).toBe("unusable");
  });
});
