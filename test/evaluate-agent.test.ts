import { ToolLoopAgent } from "ai";
import { expect, test } from "vitest";
import { agentMatchers } from "../entries/vitest.ts";
import { evaluateAgent } from "../extensions/agents/evaluate-agent.ts";
import { compareAgents } from "../extensions/agents/measure.ts";
import type { AgentEnd } from "../extensions/agents/train-agent.ts";
import "./loopback.ts";
import { type Asked, agent, reward, tasks, with_ } from "./evaluate-agent.fixture.ts";

test("an agent is measured under two models of an endpoint, and they are compared task by task", async () => {
  const weak = await evaluateAgent({ agent, tasks, reward, endpoint: with_("weak"), k: 3 });
  const strong = await evaluateAgent({ agent, tasks, reward, endpoint: with_("strong"), k: 3 });
  expect(weak).toMatchObject({ k: 3, success: { mean: 2 / 6 }, allSucceed: 2 / 6 });
  expect(weak.tasks.map(({ rewards }) => rewards.length)).toEqual(tasks.map(() => 3));
  expect(strong.success.mean).toBe(1);
  expect(strong.success.low).toBeLessThan(0.7); // six tasks show no more
  const stubborn = await evaluateAgent({
    agent: (prompt: string) => agent(prompt, { name: "strong" }),
    tasks,
    reward,
    endpoint: with_("weak"),
  });
  expect(stubborn.success.mean).toBe(2 / 6); // the model that is measured, whatever name the agent asks for
  expect(compareAgents(weak, strong)).toMatchObject({ better: 4, worse: 0, difference: { mean: 4 / 6 } });
  const fewer = await evaluateAgent({ agent, tasks: tasks.slice(1), reward, endpoint: with_("weak") });
  expect(() => compareAgents(weak, fewer)).toThrow("different tasks");
});

test("an agent object of the AI SDK is measured as it is; another object is no agent", async () => {
  const object = new ToolLoopAgent({ model: "openai/gpt-5-mini" });
  const measured = await evaluateAgent({ agent: object, tasks, reward, endpoint: with_("strong") });
  expect(measured.success.mean).toBe(1);
  await expect(evaluateAgent({ agent: { name: "none" }, tasks, reward })).rejects.toThrow(
    /agent is "object"; expected a function/,
  );
});

test("a model of this machine answers at the temperature of the measurement, whatever the agent asks for", async () => {
  const office = new URL("../models/office", import.meta.url).pathname;
  const heard: string[] = [];
  const asking = async (prompt: string, { name }: { readonly name: string }) => {
    const said = await agent(prompt, { name });
    heard.push(said);
    return said;
  };
  const measured = { agent: asking, reward, tasks: tasks.slice(0, 1), model: office, k: 4, engine: { threads: 1 } };
  await evaluateAgent({ ...measured, temperature: 0 });
  expect([heard.length, new Set(heard.splice(0)).size]).toEqual([4, 1]);
  await evaluateAgent(measured);
  const drawn = new Set(heard.splice(0));
  expect(drawn.size).toBeGreaterThan(1);
  await evaluateAgent(measured); // of the same seed
  expect(new Set(heard.splice(0))).toEqual(drawn);
  await evaluateAgent({ ...measured, seed: 2 });
  expect(new Set(heard)).not.toEqual(drawn);
  await expect(evaluateAgent({ agent, tasks, reward, endpoint: with_("weak"), temperature: 0 })).rejects.toThrow(
    /^temperature is 0; expected none: it is of a `model` of this machine/,
  );
});

test("an agent that throws or hangs fails by itself; a reward that is no number leaves no score", async () => {
  const faulty = async (prompt: string) => {
    if (prompt.includes("0")) throw new Error("broken");
    return prompt.includes("1") ? new Promise(() => {}) : "fine";
  };
  const nan = ({ task }: AgentEnd<Asked>) => (task.number === 2 ? Number.NaN : 1);
  const { tasks: measured, ...summary } = await evaluateAgent({
    agent: faulty,
    tasks: tasks.slice(0, 4),
    reward: nan,
    timeoutMs: 100,
  });
  expect(measured.map(({ rewards, errors, failures }) => [rewards[0], failures[0], errors[0]])).toEqual([
    [0, "broken", undefined],
    [0, "no answer within 100 ms", undefined],
    [undefined, undefined, "reward: the reward is NaN; expected a finite number"],
    [1, undefined, undefined],
  ]);
  expect(summary).toMatchObject({ attempts: 4, errors: 1, success: { mean: 1 / 3 } });
  await expect(evaluateAgent({ agent: faulty, tasks: [], reward })).rejects.toThrow("at least one value");
});

test("a reward that is no number is named as it was given, and an evaluation of which the first attempts all end so is not played on", async () => {
  let played = 0;
  const counted = async () => String(played++);
  const many = Array.from({ length: 40 }, (_, i) => ({ prompt: `Number ${i}?`, number: i }));
  const given = (value: unknown) => evaluateAgent({ agent: counted, tasks: many, reward: () => value as number, concurrency: 1 });
  await expect(given("yes")).rejects.toThrow(/the first 8 attempts .*the reward of an agent is \\?"yes\\?"; expected a number/);
  await expect(given(true)).rejects.toThrow(/the reward of an agent is true; expected a number/);
  await expect(given(Number.NaN)).rejects.toThrow(/the reward is NaN/);
  expect(played).toBe(24);
});

test("what an agent leaves behind is named: a rejected promise warns, an exception in a timer ends the evaluation", async () => {
  const warned: string[] = [];
  const onWarning = ({ message }: Error) => void warned.push(message);
  process.on("warning", onWarning);
  try {
    const careless = async () => {
      setTimeout(() => void Promise.reject(new Error("log lost")), 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return "0";
    };
    expect((await evaluateAgent({ agent: careless, tasks: tasks.slice(0, 1), reward })).success.mean).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warned).toEqual([expect.stringMatching(/^A promise of the agent was rejected and nobody waited for it: log lost/)]);
    const fatal = () => {
      setTimeout(() => {
        throw new Error("socket");
      }, 1);
      return new Promise(() => {});
    };
    await expect(evaluateAgent({ agent: fatal, tasks: tasks.slice(0, 1), reward })).rejects.toThrow(
      /^the agent is "ended by an exception that nobody could catch \(socket\)"/,
    );
    const ending = { agent: () => new Promise(() => {}), tasks: tasks.slice(0, 1), reward };
    await expect(evaluateAgent({ ...ending, signal: AbortSignal.timeout(10) })).rejects.toThrow(/aborted due to timeout/);
  } finally {
    process.off("warning", onWarning);
  }
});

test("a matcher for tests passes by the share of successes, and its message has pass^k and what noise leaves open", async () => {
  let calls = 0;
  const often = async (prompt: string) => (calls++ % 4 === 3 ? "no" : prompt);
  const { pass, message } = await agentMatchers.toSucceed(often, tasks, { reward, atLeast: 0.7, k: 4, concurrency: 1 });
  expect(pass).toBe(true);
  expect(message()).toMatch(/of 24 attempts to succeed: 75\.0 % {2}\[.*\], the 95 % interval over tasks/);
  expect(message()).toMatch(/all 4 attempts at a task succeed: 0\.0 % \(pass\^4\)/);
  expect(message()).toContain("The interval contains the limit");
  expect.extend(agentMatchers);
  await expect(often).toSucceed(tasks, { reward, atLeast: 0.7, k: 4, concurrency: 1 });
  const failed = await agentMatchers.toSucceed(async () => "no", tasks, { reward, atLeast: 0.7, k: 2 });
  expect(failed.pass).toBe(false);
  expect(failed.message()).not.toContain("The interval contains the limit");
});
