import "../../test/office.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { testChat } from "../../test/fixtures/chats.ts";
import { fencedCode } from "../actions/fenced-code.ts";
import type { ToolCall } from "../core/messages.ts";
import type { Sampler } from "../engines/engine.ts";
import { defineEnvironment } from "../environments/define.ts";
import type { Environment, Episode, Task } from "../environments/environment.ts";
import { whileOpen } from "../environments/lifetime.ts";
import { newMessages } from "../environments/protocol.ts";
import { defineTool } from "../tools/tool.ts";
import { branchingSchema } from "./branching/settings.ts";
import { rolloutTrees } from "./branching/trees.ts";
import { type RolloutOptions, rollout, rolloutGroups } from "./rollout.ts";

const call = (name: string, args: object = {}) => `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`;

/** Writes the text that its context's number of assistant turns picks; the last one again and again. */
function writing(texts: readonly string[], chat = testChat("plain")) {
  const contexts: string[] = [];
  const sampler: Sampler = {
    info: { name: "scripted", parameters: 0, vocabularySize: 306, maxLength: 10_000, capabilities: [] } as never,
    weightVersion: 0,
    async sample(request) {
      const context = chat.tokenizer.decode(request.context);
      contexts.push(context);
      const turn = context.split("<|im_start|>assistant").length - 2;
      const whole = chat.tokenizer.encode(`${texts[Math.min(turn, texts.length - 1)]}<|im_end|>`);
      const tokens = whole.slice(0, request.maxTokens);
      const each = (value: number) => tokens.map(() => value);
      const finish = tokens.length < whole.length ? "length" : "stop";
      return { tokens, logprobs: each(-1), modelLogprobs: each(-1), entropies: each(turn), finish, weightVersion: 0 };
    },
    release: () => {},
  };
  return { sampler, chat, contexts };
}

const tool = (name: string, execute: () => unknown = () => "ok") =>
  defineTool({ name, description: name, parameters: z.object({}), replayable: true, execute });

function environmentOf(change: Partial<Episode>, more: Partial<Environment> = {}): Environment {
  const episode: Episode = {
    messages: [{ role: "user", content: "hi" }],
    tools: [tool("a")],
    reply: () => ({ done: true }),
    score: () => ({ reward: 1 }),
    ...change,
  };
  return { name: "hooks", size: () => 1, task: () => ({ id: "t" }), start: () => episode, ...more };
}

const options: RolloutOptions = { id: "r/0", group: "r", seed: 1, maxTurns: 6, maxTokens: 500, episodeTimeoutMs: 1000 };
function play(environment: Environment, texts: readonly string[], change: Partial<RolloutOptions> = {}) {
  const { sampler, chat } = writing(texts);
  return rollout(sampler, chat, environment, { id: "t" }, { ...options, ...change });
}

test("the hook after tool results adds messages, gives rewards and ends the episode; the return is their sum and the score", async () => {
  const seen: unknown[] = [];
  const environment = environmentOf({
    afterTools: (answers, action) => {
      seen.push([answers.map(({ content }) => content), action.toolCalls?.length]);
      if (seen.length === 1) return { reward: 0.25, messages: [{ role: "user", content: "go on" }] };
      return { done: true, reward: -0.5 };
    },
  });
  const { messages, turns, reward, stopReason } = await play(environment, [call("a"), `${call("a")}${call("b")}`, "never"]);
  expect(seen).toEqual([
    [["ok"], 1],
    [["ok", 'Error: there is no tool "b". The tools are a.'], 2],
  ]);
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user", "assistant", "tool", "tool"]);
  expect(turns.map((turn) => turn.reward)).toEqual([0.25, -0.5]);
  expect({ reward, stopReason }).toEqual({ reward: 0.75, stopReason: "done" });
});

test("a reply gives rewards too, and failed episodes have none", async () => {
  const told = environmentOf({ reply: () => ({ done: true, reward: 2, messages: [{ role: "user", content: "thanks" }] }) });
  expect(await play(told, ["Done."])).toMatchObject({ reward: 3, turns: [{ reward: 2 }] });
  const failing = environmentOf({
    afterTools: () => ({ reward: 1 }),
    reply: () => {
      throw new Error("lost");
    },
  });
  const failed = await play(failing, [call("a"), "Done."]);
  expect(failed).toMatchObject({ reward: 0, stopReason: "environment-error", error: "reply: lost" });
  expect(failed.turns.map((turn) => turn.reward)).toEqual([undefined, undefined]);
  for (const reward of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const wrong = await play(environmentOf({ afterTools: () => ({ reward }) }), [call("a"), "Done."]);
    expect(wrong).toMatchObject({ reward: 0, stopReason: "invalid-reward", error: expect.stringContaining("afterTools gave") });
  }
  const malformed = await play(environmentOf({ afterTools: () => ({ messages: "no" }) as never }), [call("a")]);
  expect(malformed).toMatchObject({
    stopReason: "environment-error",
    error: expect.stringMatching(/afterTools gave a malformed/),
  });
});

test("an environment answers calls itself, with the text that the model wrote, and may end between two of them", async () => {
  const calls: ToolCall[] = [];
  const environment = environmentOf({
    call: (made) => {
      calls.push(made);
      if (made.name === "a") return undefined; // left to the tool
      if (made.name === "wrong") return { content: "no such thing", valid: false };
      return { content: "bye", reward: 0.5, done: true };
    },
  });
  const text = `${call("a")}${call("wrong", { x: 1 })}${call("end")}${call("a")}`;
  const { messages, turns, stopReason, reward } = await play(environment, [text]);
  expect(messages.filter(({ role }) => role === "tool").map(({ content }) => content)).toEqual(["ok", "no such thing", "bye"]);
  expect(calls.map(({ name }) => name)).toEqual(["a", "wrong", "end"]);
  expect(turns[0]).toMatchObject({ toolCalls: 2, invalidToolCalls: 1, reward: 0.5 });
  expect({ stopReason, reward }).toEqual({ stopReason: "done", reward: 1.5 });
});

test("tools that appear later can be called from then on, and are shown where the template shows tools", async () => {
  const environment = environmentOf({ afterTools: () => ({ tools: [tool("a"), tool("later", () => "now")] }) });
  const chat = testChat("qwen25");
  const { sampler, contexts } = writing([call("later"), call("later"), "Done."], chat);
  const { messages, turns } = await rollout(sampler, chat, environment, { id: "t" }, options);
  const answers = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  expect(answers).toEqual(['Error: there is no tool "later". The tools are a.', "now"]);
  expect(contexts.map((context) => context.includes('"name": "later"'))).toEqual([false, true, true]);
  // Another list of tools is another context; the same one continues it.
  expect(turns.map(({ rewritten }) => rewritten)).toEqual([false, true, false]);
});

test("a user's request has a limit of turns of its own, and so has an episode", async () => {
  const asking = environmentOf({ reply: () => ({ done: false, messages: [{ role: "user", content: "more" }] }) });
  const texts = [call("a"), "One.", call("a"), call("a"), call("a")];
  expect((await play(asking, texts)).turns).toHaveLength(6);
  const perRequest = await play(asking, texts, { maxTurnsPerRequest: 3 });
  expect(perRequest).toMatchObject({ stopReason: "max-turns", reward: 1 });
  expect(perRequest.turns).toHaveLength(5);
  const own = (limits: Episode["limits"]) => environmentOf({ limits });
  expect((await play(own({ turnsPerRequest: 2 }), [call("a")])).turns).toHaveLength(2);
  expect((await play(own({ turns: 1 }), [call("a")])).turns).toHaveLength(1);
});

test("code in a fence is an action, and its result a message of the user", async () => {
  const python = defineTool({
    name: "python",
    description: "Runs.",
    parameters: z.object({ code: z.string() }),
    execute: ({ code }) => `ran ${code}`,
  });
  const environment = environmentOf({
    tools: [python],
    protocol: { actions: fencedCode(), continuation: newMessages((answer) => `Output:\n${answer}`) },
  });
  const action = "I look.\n```python\nprint(1)\n```";
  const { sampler, chat, contexts } = writing([action, "It is 1."]);
  const { messages, turns } = await rollout(sampler, chat, environment, { id: "t" }, options);
  expect(messages.slice(1)).toEqual([
    { role: "assistant", content: action, toolCalls: [{ name: "python", arguments: { code: "print(1)" } }] },
    { role: "tool", name: "python", content: "ran print(1)" },
    { role: "assistant", content: "It is 1." },
  ]);
  expect(contexts[1]).toBe(
    `<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n${action}<|im_end|>\n` +
      "<|im_start|>user\nOutput:\nran print(1)<|im_end|>\n<|im_start|>assistant\n",
  );
  expect(turns.map(({ rewritten }) => rewritten)).toEqual([false, false]);
});

test("a cut-off action calls nothing, whoever answers calls", async () => {
  const made: string[] = [];
  const recorded = tool("a", () => void made.push("tool"));
  const environment = environmentOf({
    tools: [recorded],
    call: ({ name }) => void made.push(name),
    afterTools: () => void made.push("after"),
  });
  const { tokenizer } = testChat("plain");
  // The whole call fits, the end of turn does not.
  const maxTokens = tokenizer.encode(call("a")).length;
  const cut = await play(environment, [call("a")], { maxTokens });
  expect(cut).toMatchObject({ stopReason: "max-tokens", turns: [{ truncated: true, toolCalls: 0, invalidToolCalls: 0 }] });
  expect(made).toEqual([]);
  await play(environment, [call("a"), "Done."], { maxTokens: maxTokens + 1 });
  expect(made).toEqual(["a", "tool", "after"]);
});

test("an environment's own limit of open episodes holds over all rollouts", async () => {
  let [open, most] = [0, 0];
  const limited = environmentOf(
    {},
    {
      concurrency: 2,
      start: async () => {
        most = Math.max(most, ++open);
        await new Promise((resolve) => setTimeout(resolve, 2));
        return { ...(await environmentOf({}).start({ id: "t" }, 0)), close: () => void open-- };
      },
    },
  );
  const { sampler, chat } = writing(["Done."]);
  const batch = (name: string) =>
    rolloutGroups(sampler, chat, limited, [{ id: "t" }, { id: "u" }], { ...options, name, groupSize: 3, concurrency: 6 });
  const groups = (await Promise.all([batch("x"), batch("y")])).flat();
  expect(groups.flatMap(({ trajectories }) => trajectories.map(({ stopReason }) => stopReason))).toEqual(Array(12).fill("done"));
  expect([open, most]).toEqual([0, 2]);
});

test("an environment is opened before the work and closed after it, also where it fails", async () => {
  const log: string[] = [];
  const limits = { timeoutMs: 1_000 };
  const environment = { name: "e", open: async () => void log.push("open"), close: async () => void log.push("close") };
  expect(await whileOpen(environment, limits, async () => log.push("work"))).toBe(2);
  await expect(whileOpen(environment, limits, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(log).toEqual(["open", "work", "close", "open", "close"]);
  const shut = { name: "shut", open: () => Promise.reject(new Error("port taken")) };
  await expect(whileOpen(shut, limits, async () => log.push("never"))).rejects.toThrow(/open of "shut" is port taken/);
  expect(log).toHaveLength(5);
});

test("copies may be promises: the branches are those of copies that are made at once", async () => {
  const branching = branchingSchema.parse({ entropy: "exact", rule: { kind: "paper", alpha: 0, beta: 1, threshold: 0 } });
  const grow = async (later: boolean) => {
    const episodeOf = (count: number): Episode => {
      let calls = count;
      return {
        messages: [{ role: "user", content: "hi" }],
        tools: [tool("a", () => ++calls)],
        reply: () => ({ done: true }),
        score: () => ({ reward: calls }),
        clone: () => (later ? new Promise((resolve) => setTimeout(() => resolve(episodeOf(calls)), 3)) : episodeOf(calls)),
      };
    };
    const { sampler, chat } = writing([call("a"), call("a"), "Done."]);
    const world: Environment = { ...environmentOf({}), start: () => episodeOf(0) };
    const tasks: Task[] = [{ id: "t" }];
    const [{ trajectories }] = await rolloutTrees(sampler, chat, world, tasks, {
      ...{ ...options, name: "s", groupSize: 5, concurrency: 5 },
      branching: { ...branching, firstRollouts: 1, beam: 3 },
    });
    return trajectories.map(({ reward, branch, messages }) => ({
      reward,
      branch,
      answers: messages.map(({ content }) => content),
    }));
  };
  const atOnce = await grow(false);
  expect(await grow(true)).toEqual(atOnce);
  expect(atOnce.map(({ reward }) => reward)).toEqual([2, 2, 2, 2, 2]);
  expect(atOnce.filter(({ branch }) => branch?.by === "clone")).toHaveLength(4);
});

test("defineEnvironment has it all: async rewards and tasks, a user, rewards of turns, limits, open and close", async () => {
  const log: string[] = [];
  const environment = defineEnvironment({
    name: "own",
    turnRewards: true,
    concurrency: 3,
    open: () => void log.push("open"),
    close: () => void log.push("close"),
    tasks: { easy: async () => [{ prompt: "one" }, { prompt: "two" }], hard: [{ prompt: "three" }] },
    start: async ({ prompt }) => {
      let asked = 0;
      return {
        tools: [tool("a")],
        limits: { turns: 5 },
        call: ({ name }) => (name === "b" ? `${prompt}!` : undefined),
        afterTools: () => ({ reward: 0.5 }),
        reply: () => (asked++ === 0 ? "and then?" : undefined),
        reward: async ({ answer, conversation }) => answer.length + conversation.length / 100,
        close: () => void log.push("closed"),
      };
    },
  });
  expect(environment).toMatchObject({ splits: ["easy", "hard"], turnRewards: true, concurrency: 3 });
  expect(await Promise.all(["easy", "hard", "train"].map((split) => environment.size(split)))).toEqual([2, 1, 0]);
  const task = await environment.task("easy", 1);
  const { sampler, chat } = writing([call("b"), "Hm", "Done"]);
  const played = await whileOpen(environment, { timeoutMs: 1_000 }, (world) => rollout(sampler, chat, world, task, options));
  expect(played.messages.map(({ content }) => content)).toEqual(["two", "", "two!", "Hm", "and then?", "Done"]);
  expect(played).toMatchObject({ reward: 0.5 + 4 + 6 / 100, stopReason: "done" });
  expect(log).toEqual(["open", "closed", "close"]);
});

test("of two limits of turns a request the lower one holds, whoever set it", async () => {
  const endless = { reply: () => ({ done: false as const, messages: [{ role: "user" as const, content: "again" }] }) };
  const ends = async (own: number | undefined, environments: number | undefined) => {
    const limits = environments === undefined ? {} : { limits: { turnsPerRequest: environments } };
    const { turns, stopReason } = await play(environmentOf({ ...endless, ...limits }), [call("a")], { maxTurnsPerRequest: own });
    return [turns.length, stopReason];
  };
  expect([
    await ends(2, 4),
    await ends(4, 2),
    await ends(undefined, 3),
    await ends(3, undefined),
    await ends(undefined, undefined),
  ]).toEqual([...[2, 2, 3, 3, 6].map((turns) => [turns, "max-turns"])]);
});
