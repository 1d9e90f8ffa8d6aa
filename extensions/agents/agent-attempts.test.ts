import "../../test/loopback.ts";
import { expect, test } from "vitest";
import { openAgent, rewardError } from "./agent-attempts.ts";
import type { AgentFunction, AgentTraining } from "./train-agent.ts";

const task = { prompt: "When?", time: "14:30" };
type Given = typeof task;
const { signal } = new AbortController();

/** One attempt of an agent that has its own model. @param fault what the server says of it, if it has a way to one */
async function attempted(
  agent: AgentFunction<Given>,
  {
    reward = () => 1,
    fault,
    timeoutMs,
  }: Partial<Pick<AgentTraining<Given>, "reward">> & { fault?: string; timeoutMs?: number } = {},
) {
  let ends = 0;
  const way = { apiKey: "sk-a-long-key", fault: () => fault, end: () => void ends++ };
  const { attempt, close } = await openAgent<Given>({ agent, reward, signal, timeoutMs }, undefined);
  const { outcome, answer } = await attempt(task, way);
  await close();
  expect(ends).toBe(1);
  return { outcome, answer };
}
const scored = (reward: number, success: boolean) => ({ kind: "score", reward, success });

test("an agent gets its task, and no address where it has a model of its own", async () => {
  let run: unknown;
  const { attempt } = await openAgent<Given>(
    { agent: async (...given: unknown[]) => (run = given), reward: () => 1, signal },
    undefined,
  );
  expect((await attempt(task, undefined)).outcome).toEqual(scored(1, true));
  const own = { baseUrl: "", apiKey: "", env: {}, name: "retrograde" };
  expect(run).toEqual(["When?", { ...own, signal: expect.any(AbortSignal), task }]);
});

test("the reward sees the task and the answer, which is kept as it was before, without keys", async () => {
  const answer = { at: "14:30", key: "sk-a-long-key" };
  const seen: unknown[] = [];
  const reward: AgentTraining<Given>["reward"] = ({ task: of, answer: said }) => {
    seen.push(of, structuredClone(said));
    (said as typeof answer).at = "noon";
    return { reward: 0.5, scores: { other: 1 } };
  };
  expect(await attempted(async () => ({ ...answer }), { reward })).toEqual({
    outcome: scored(0.5, false),
    answer: { value: { at: "14:30", key: "[key]" } },
  });
  expect(seen).toEqual([task, answer]);
});

test.each<[string, unknown, object]>([
  ["throws", () => Promise.reject(new Error("lost")), { kind: "error", error: `${rewardError}lost` }],
  [
    "gives no number",
    () => "1",
    { kind: "error", error: expect.stringMatching(/^reward: the reward of an agent is "1"; expected/) },
  ],
  [
    "gives what is not finite",
    () => Infinity,
    { kind: "error", error: "reward: the reward is Infinity; expected a finite number" },
  ],
  ["is 1 but for rounding", () => 1 - 1e-16, { kind: "score", success: true }],
  ["is more than 1", async () => ({ reward: 2 }), scored(2, true)],
])("a reward that %s", async (_, reward, outcome) => {
  expect((await attempted(async () => "x", { reward: reward as never })).outcome).toMatchObject(outcome);
});

test("an agent's own error is a reward of 0; that of a server has no score, whatever the agent made of it", async () => {
  const raise = (fields: object) => async () => {
    throw Object.assign(new Error("no order"), fields);
  };
  const failed = { outcome: { ...scored(0, false), failure: "no order" }, answer: undefined };
  expect(await attempted(raise({}))).toEqual(failed);
  expect(await attempted(raise({ status: 400 }))).toEqual(failed);
  const unscored = (error: string) => ({ outcome: { kind: "error", error }, answer: undefined });
  expect(await attempted(raise({ status: 503 }))).toEqual(unscored("no order"));
  expect(await attempted(raise({}), { fault: "it answered 503" })).toEqual(unscored("it answered 503"));
  expect(await attempted(async () => "made up", { fault: "it answered 503" })).toEqual({
    outcome: { kind: "error", error: "it answered 503" },
    answer: { value: "made up" },
  });
});

test("an agent that does not end in its time fails, and its signal is aborted", async () => {
  let left: AbortSignal | undefined;
  const agent: AgentFunction<Given> = (_, run) => {
    left = run.signal;
    return new Promise(() => {});
  };
  expect((await attempted(agent, { timeoutMs: 10 })).outcome).toEqual({
    ...{ ...scored(0, false), failure: "no answer within 10 ms" },
  });
  expect(left?.aborted).toBe(true);
});

test("what ends the whole work is no failure of the agent's", async () => {
  const stopped = new AbortController();
  const agent = () => {
    stopped.abort(new Error("stopped"));
    return new Promise(() => {});
  };
  const { attempt } = await openAgent<Given>({ agent, reward: () => 1, signal: stopped.signal }, undefined);
  await expect(attempt(task, undefined)).rejects.toThrow("stopped");
});

test("with a model's address the process's clients reach it until the end, also if the agent is none", async () => {
  const before = process.env.OPENAI_BASE_URL;
  const model = { baseUrl: "http://127.0.0.1:9/v1", name: "m" };
  await expect(openAgent({ agent: {}, reward: () => 1, signal }, model)).rejects.toThrow('agent is "object"');
  expect(process.env.OPENAI_BASE_URL).toBe(before);
  let run: unknown;
  const agent: AgentFunction<Given> = async (_, given) => (run = given);
  const { attempt, close } = await openAgent<Given>({ agent, reward: () => 1, signal }, model);
  expect(process.env.OPENAI_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  await attempt(task, { apiKey: "sk-a-long-key", fault: () => undefined, end: () => {} });
  expect(run).toMatchObject({ name: "m", baseUrl: process.env.OPENAI_BASE_URL, env: { OPENAI_MODEL: "m" }, task });
  await close();
  expect(process.env.OPENAI_BASE_URL).toBe(before);
});
