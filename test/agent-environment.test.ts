import "./loopback.ts";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentModel, agentEnvironment } from "../extensions/agents/agent.ts";
import { createLocalEngine, type LocalEngine } from "../extensions/local/engine.ts";
import { packRows } from "../extensions/local/training/packing.ts";
import { resolveAlgorithm, runUpdate } from "../src/algorithms/algorithms.ts";
import { makeChat } from "../src/chat/chat.ts";
import { makeTokenizer } from "../src/chat/tokenizer.ts";
import { Context } from "../src/core/context.ts";
import { randomStream } from "../src/core/random.ts";
import type { Group, Trajectory } from "../src/core/trajectory.ts";
import { rolloutGroups } from "../src/rollouts/rollout.ts";
import { enginePolicy } from "../src/training/update/engine-policy.ts";
import { slowdown } from "./slowdown.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** An agent in messages, as its writer has it: a main conversation, a sub-agent, a compacted history, and a second try of one answer. */

interface Sent {
  readonly role: string;
  readonly content: string;
}

async function ask({ baseUrl, apiKey, name }: AgentModel, messages: readonly Sent[], more: object = {}): Promise<Sent> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: name, messages, max_tokens: 6, ...more });
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body });
  const json = JSON.parse(await response.text());
  if (!response.ok) throw new Error(json.error?.message ?? JSON.stringify(json));
  return json.choices[0].message;
}

const user = (content: string): Sent => ({ role: "user", content });

const environment = agentEnvironment({
  name: "own-agent",
  tasks: { train: [{ prompt: "ab" }, { prompt: "cd" }] },
  run: async ({ prompt }, model) => {
    const main: Sent[] = [user(prompt)];
    main.push(await ask(model, main)); // turn 0
    const sub: Sent[] = [user(`${prompt} sub`)];
    sub.push(await ask(model, sub), user("on")); // turn 1, the sub-agent's
    sub.push(await ask(model, sub)); // turn 2
    main.push(user(`it says ${sub[1].content}`));
    const first = await ask(model, main); // turn 3 continues turn 0
    const { message } = await model.converse({ messages: main as never, maxTokens: 6 }); // turn 4: the same prompt again
    const compacted = [main[0], user("in short"), user("now")];
    await ask(model, compacted); // turn 5
    return (first.content + message.content).length % 2;
  },
});

const folder = mkdtempSync(join(tmpdir(), "retrograde-agent-"));
const read = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, "../models/office", name), "utf8"));
const files = { tokenizer: read("tokenizer.json"), config: read("tokenizer_config.json") };
const chat = makeChat(makeTokenizer(files));
let engine: LocalEngine;
let groups: readonly Group[];
beforeAll(async () => {
  await writeTinyModel(join(folder, "model"), files);
  const decode = (tokens: readonly number[]) => chat.tokenizer.decode(tokens);
  engine = await createLocalEngine({ model: join(folder, "model"), threads: 1, decode });
  await environment.open?.();
  const tasks = await Promise.all([0, 1].map((index) => environment.task("train", index)));
  const options = { name: "step-1", seed: 1, groupSize: 3, concurrency: 2, maxTurns: 8, maxTokens: 6, episodeTimeoutMs: 60_000 };
  groups = await rolloutGroups(engine, chat, environment, tasks, options);
});
afterAll(async () => {
  await environment.close?.();
  await engine.dispose();
  rmSync(folder, { recursive: true });
});

const trajectories = () => groups.flatMap((group) => group.trajectories);
const whole = ({ turns }: Trajectory, turn: number) => [...turns[turn].context, ...turns[turn].action];
const begins = (ids: Iterable<number>, start: readonly number[]) => expect([...ids].slice(0, start.length)).toEqual(start);

test("every answer that the agent got is a turn, in the order of its requests", () => {
  expect(trajectories()).toHaveLength(6);
  for (const { turns, error, reward, messages } of trajectories()) {
    expect({ turns: turns.length, error }).toEqual({ turns: 6, error: undefined });
    expect([0, 1]).toContain(reward);
    expect(messages.at(-2)).toEqual({ role: "user", content: "now" });
  }
});

test("an answer that the limit cut off says so", () => {
  const turns = trajectories().flatMap((trajectory) => trajectory.turns);
  const cutOff = turns.map(({ action }) => !chat.tokenizer.stopTokens.includes(action[action.length - 1]));
  expect(turns.map(({ truncated }) => truncated)).toEqual(cutOff);
  expect(cutOff).toContain(true);
});

test("conversations are continued behind the very ids that were sampled, which their texts do not give", () => {
  let different = 0;
  for (const trajectory of trajectories()) {
    const { turns } = trajectory;
    begins(turns[3].context, whole(trajectory, 0));
    begins(turns[2].context, whole(trajectory, 1));
    expect([...turns[4].context]).toEqual([...turns[3].context]);
    for (const { action } of turns)
      different += Number(`${chat.tokenizer.encode(chat.tokenizer.decode(action))}` !== `${action}`);
    expect(turns.map(({ rewritten }) => rewritten)).toEqual(turns.map(() => false));
  }
  expect(different).toBeGreaterThan(0);
});

test("the contexts of an episode are one tree, which holds each of its tokens once", () => {
  for (const { turns } of trajectories()) {
    const contexts = turns.map(({ context }) => (context instanceof Context ? context : expect.unreachable()));
    const path = (turn: number) => new Set(contexts[turn].path());
    expect(path(3).has(contexts[0])).toBe(true);
    expect(path(2).has(contexts[1])).toBe(true);
    expect(contexts[4]).toBe(contexts[3]);
    expect(new Set(contexts.map((context) => context.path()[0].ids[0])).size).toBe(1);
    const nodes = new Set(contexts.flatMap((context) => context.path()));
    const held = [...nodes].reduce((sum, { ids }) => sum + ids.length, 0);
    const dense = contexts.reduce((sum, { length }) => sum + length, 0);
    expect(held).toBeLessThan(0.7 * dense);
    const packed = packRows(turns, 4096).reduce((sum, { tokens }) => sum + tokens.length, 0);
    expect(packed).toBeLessThan(dense);
  }
});

test("one step trains on all of it: the sampler's log-probs are the trainer's, and the policy moves", async () => {
  const samples = trajectories().flatMap(({ turns }) => turns);
  const before = await engine.logprobs(samples, { temperature: 1 });
  const gaps = before.flatMap((row, i) => row.map((value, t) => Math.abs(value - samples[i].samplerLogprobs[t])));
  expect(Math.max(...gaps)).toBeLessThan(1e-4);
  const step = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
  const { gradientNorm } = await runUpdate(enginePolicy(engine, 1, step), groups, resolveAlgorithm("grpo"), randomStream(1));
  expect(gradientNorm).toBeGreaterThan(0);
  const after = await engine.logprobs(samples, { temperature: 1 });
  expect(after).not.toEqual(before);
});

test("settings of sampling belong to the run: they are overridden and counted, or refused where that is asked for", async () => {
  const play = async (sampling: "override" | "refuse") => {
    const hot = agentEnvironment({
      name: "hot",
      sampling,
      tasks: { train: [{ prompt: "ab" }] },
      run: async ({ prompt }, model) => {
        await ask(model, [user(prompt)], { temperature: 1, top_p: 1 });
        await ask(model, [user(prompt)], { temperature: 0.7, seed: 3 });
        return 1;
      },
    });
    await hot.open?.();
    const options = { name: "s", seed: 1, groupSize: 1, concurrency: 1, maxTurns: 8, maxTokens: 6, episodeTimeoutMs: 60_000 };
    const [{ trajectories: played }] = await rolloutGroups(engine, chat, hot, [await hot.task("train", 0)], options);
    await hot.close?.();
    return played[0];
  };
  expect(await play("override")).toMatchObject({
    scores: { "agent.requests": 2, "agent.overridden": 1, "agent.refused": 0 },
    reward: 1,
  });
  const refused = await play("refuse");
  expect(refused).toMatchObject({ reward: 0, stopReason: "environment-error" });
  expect(refused.error).toMatch(
    /the model's endpoint refused a request of the agent: temperature is 0.7; expected 1, the run's own/,
  );
});

/** Plays one episode of an agent, with little time. */
async function playedBy(run: (model: AgentModel) => Promise<number>, signal?: AbortSignal, episodeTimeoutMs = 300) {
  const strange = agentEnvironment({ name: "strange", tasks: { train: [{ prompt: "ab" }] }, run: (_, model) => run(model) });
  await strange.open?.();
  try {
    const options = { name: "s", seed: 1, groupSize: 1, concurrency: 1, maxTurns: 8, maxTokens: 6, episodeTimeoutMs };
    const tasks = [await strange.task("train", 0)];
    const [group] = await rolloutGroups(engine, chat, strange, tasks, {
      ...options,
      ...(signal === undefined ? {} : { signal }),
    });
    return group.trajectories[0];
  } finally {
    await strange.close?.();
  }
}
const forever = () => new Promise<number>(() => {});

test.each([
  ["before its first request", forever, 0],
  ["after a request", (model: AgentModel) => ask(model, [user("ab")]).then(forever), 1],
])("an agent that hangs %s is a counted fault after rollout.episodeTimeoutMs", async (_, run, requests) => {
  const { stopReason, error, reward, turns } = await playedBy(run);
  expect({ stopReason, reward, turns: turns.length }).toEqual({
    stopReason: "environment-timeout",
    reward: 0,
    turns: requests,
  });
  expect(error).toMatch(/play: no answer within 300 ms/);
});

test.each([
  ["throws", async (): Promise<number> => Promise.reject(new Error("no calendar")), /no calendar/],
  ["never calls the model", async () => 1, /ended without asking for an action/],
  ["gives no reward", async (): Promise<number> => undefined as never, /the reward of an agent is missing; expected a number/],
])("an agent that %s is a counted fault", async (_, run, why) => {
  expect(await playedBy(run)).toMatchObject({
    stopReason: "environment-error",
    error: expect.stringMatching(why),
    reward: 0,
    turns: [],
  });
});

test("an agent that asks without end, and hears each time that it may not, is ended too", async () => {
  const { turns, stopReason } = await playedBy(async (model) => {
    for (;;) await ask(model, [user("ab")]).catch(() => new Promise((go) => setTimeout(go, 20)));
  });
  expect({ turns: turns.length, stopReason }).toEqual({ turns: 8, stopReason: "environment-timeout" });
});

test("the time of the model's own answers does not count", async () => {
  const { stopReason } = await playedBy(async (model) => {
    for (let i = 0; i < 6; i++) {
      await ask(model, [user(`${i}`)]);
      await new Promise((go) => setTimeout(go, 60));
    }
    return 1;
  });
  expect(stopReason).toMatch(/done|max-tokens/);
});

test("an interrupted run does not wait for an agent that hangs", async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error("Ctrl-C")), 50);
  const started = performance.now();
  await playedBy(forever, stop.signal, 60_000).catch(() => {});
  expect(performance.now() - started).toBeLessThan(3000 * slowdown());
});

test("what an agent asks when its episode is over is refused, and changes no turn", async () => {
  let late: Promise<unknown> | undefined;
  const { turns, stopReason } = await playedBy(async (model) => {
    await ask(model, [user("ab")]);
    late = new Promise((go) => setTimeout(go, 500)).then(() => model.converse({ messages: [{ role: "user", content: "cd" }] }));
    late.catch(() => {});
    return forever();
  });
  expect({ turns: turns.length, stopReason }).toEqual({ turns: 1, stopReason: "environment-timeout" });
  await expect(late).rejects.toThrow("no answer within 300 ms");
  expect(turns).toHaveLength(1);
});

test("a run of an agent is not reached by another one's key", async () => {
  let other: AgentModel | undefined;
  const opened = agentEnvironment({
    name: "two",
    tasks: { train: [{ prompt: "victim" }, { prompt: "attacker" }] },
    run: async ({ prompt }, model) => {
      if (prompt === "victim") {
        other = model;
        await ask(model, [user("own")]);
        await new Promise((go) => setTimeout(go, 300));
        return 1;
      }
      while (other === undefined) await new Promise((go) => setTimeout(go, 5));
      await ask(model, [user("own")]);
      // The key decides, whatever name is asked for. A key of nobody's is refused.
      await ask({ ...model, name: other.name }, [user("under the other's name")]);
      await expect(ask({ ...other, apiKey: "run-0" }, [user("injected")])).rejects.toThrow("a key of this server");
      return 1;
    },
  });
  await opened.open?.();
  const tasks = await Promise.all([0, 1].map((index) => opened.task("train", index)));
  const options = { name: "s", seed: 1, groupSize: 1, concurrency: 2, maxTurns: 8, maxTokens: 6, episodeTimeoutMs: 60_000 };
  const both = await rolloutGroups(engine, chat, opened, tasks, options);
  await opened.close?.();
  expect(both.flatMap((group) => group.trajectories.map(({ turns, error }) => [turns.length, error]))).toEqual([
    [1, undefined],
    [2, undefined],
  ]);
});
