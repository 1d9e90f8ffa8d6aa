import { join } from "node:path";
import { expect, test } from "vitest";
import { agentMatchers } from "../entries/vitest.ts";
import { isServiceError } from "../extensions/agents/blame.ts";
import { evaluateAgent } from "../extensions/agents/evaluate-agent.ts";
import { compareAgents } from "../extensions/agents/measure.ts";
import { trainedAgent } from "../extensions/agents/train-agent.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { rollout } from "../src/rollouts/rollout.ts";
import { scriptedSampler } from "./scripted-sampler.ts";
import "./loopback.ts";
import { baseUrl, measured, reward, swallowing, tasks, throwing } from "./errors-are-no-scores.fixture.ts";

test.each([
  ["an agent that throws", throwing],
  ["an agent that answers all the same", swallowing],
])("%s: half of the attempts meet a server that is overloaded, and have no score", async (_, agent) => {
  const [calm, busy] = [await measured("calm", agent), await measured("busy", agent)];
  expect(calm).toMatchObject({ attempts: 12, errors: 0, success: { mean: 1 } });
  expect(busy).toMatchObject({ attempts: 12, errors: 6, success: { mean: 1 } });
  expect(busy.tasks[1]?.errors[0]).toMatch(/answered 503 .*overloaded/);
  expect(busy.tasks[1]?.rewards[0]).toBeUndefined();
  expect(() => compareAgents(calm, busy)).toThrow(/no verdict: 6 of 12 attempts of the second ended by an error/);
});

test("few errors are no pairs: two equal models do not differ", async () => {
  const [calm, rare] = [await measured("calm"), await measured("rare")];
  expect(rare).toMatchObject({ attempts: 12, errors: 1, success: { mean: 1 } });
  expect(compareAgents(calm, rare)).toMatchObject({ tasks: 11, better: 0, worse: 0, difference: { mean: 0 } });
});

test.each(["limited", "gateway", "gone"])("%s: nothing was measured, which is no 0", async (name) => {
  await expect(measured(name, swallowing, tasks.slice(0, 3))).rejects.toThrow(/the end of all 3 attempts.*Nothing was measured/s);
});

test("no server at all, and a reward that throws: nothing was measured", async () => {
  const endpoint = { baseUrl: "http://127.0.0.1:9/v1", apiKey: "none", name: "m" };
  await expect(evaluateAgent({ agent: swallowing, tasks, reward, endpoint })).rejects.toThrow(/ECONNREFUSED/);
  const noReward = () => Promise.reject(new Error("the judge is gone"));
  await expect(evaluateAgent({ agent: async () => "a", tasks, reward: noReward })).rejects.toThrow(/reward: the judge is gone/);
});

test("what a server refuses of an agent's own request is the agent's failure, and so is an error in its code", async () => {
  const strict = await measured("strict");
  expect(strict).toMatchObject({ errors: 0, success: { mean: 0 } });
  expect(strict.tasks[0]?.failures[0]).toContain("not a string");
  const buggy = await measured("calm", async (prompt, run) => JSON.parse((await throwing(prompt, run)) as string));
  expect(buggy).toMatchObject({ errors: 0, success: { mean: 0 } });
});

test("without an endpoint the shape of an error says whose it is", async () => {
  const of = (fields: object, cause?: unknown) => Object.assign(new Error("x", { cause }), fields);
  const theirs = [
    of({ status: 500 }), // openai, anthropic
    of({ statusCode: 529 }), // AI SDK
    of({ name: "APIConnectionError" }),
    of({ code: "UND_ERR_HEADERS_TIMEOUT" }),
    of({}, of({ code: "ECONNRESET" })),
    of({ lastError: of({ statusCode: 429 }) }), // AI_RetryError
    of({ errors: [of({ code: "ENOTFOUND" })] }),
    of({ code: "ENOENT", syscall: "spawn python" }),
  ];
  for (const error of theirs) expect(isServiceError(error), JSON.stringify(error)).toBe(true);
  for (const error of [
    of({ status: 400 }),
    of({ code: "ENOENT", syscall: "open" }),
    new TypeError("x is undefined"),
    "text",
    null,
  ])
    expect(isServiceError(error)).toBe(false);
});

test("the matcher has no verdict on errors, negated or not", async () => {
  const options = { reward, atLeast: 0.9, endpoint: { baseUrl, apiKey: "the-servers-own", name: "busy" } };
  expect.extend(agentMatchers);
  const refused = /no verdict: 6 of 12 attempts of the agent ended by an error/;
  await expect(expect(throwing).toSucceed(tasks, options)).rejects.toThrow(refused);
  await expect(expect(throwing).not.toSucceed(tasks, options)).rejects.toThrow(refused);
});

test("in a run's episodes an agent's own error is another end than a server's and the reward's", async () => {
  const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../models/office")));
  const sampler = scriptedSampler(chat.tokenizer, () => "no JSON");
  const ends = async (agent: (text: string) => unknown, score: () => number) => {
    const call = async (prompt: string, run: { baseUrl: string; apiKey: string }) =>
      agent((await throwing(prompt, { ...run, name: "m" })) as string);
    const environment = trainedAgent({ agent: call, tasks: { train: [{ prompt: "Hello?" }], test: [] }, reward: score });
    await environment.open?.();
    const identity = { id: "0/0", group: "0", seed: 1, maxTurns: 4, maxTokens: 64, episodeTimeoutMs: 30_000 };
    const {
      stopReason,
      reward: given,
      error,
    } = await rollout(sampler, chat, environment, await environment.task("train", 0), identity);
    await environment.close?.();
    return { stopReason, given, error };
  };
  const busy = () => {
    throw Object.assign(new Error("overloaded"), { status: 503 });
  };
  expect(
    await ends(
      (text) => JSON.parse(text),
      () => 1,
    ),
  ).toMatchObject({ stopReason: "agent-error", given: 0, error: expect.stringMatching(/JSON/) });
  expect(await ends(busy, () => 1)).toMatchObject({
    stopReason: "environment-error",
    error: expect.stringMatching(/overloaded/),
  });
  expect(await ends((text) => text, busy)).toMatchObject({ stopReason: "environment-error" });
  expect(
    await ends(
      (text) => text,
      () => 0.9999999999999999,
    ),
  ).toMatchObject({ stopReason: "done" });
});
