import "../../install.ts";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AssistantMessage, Message } from "../../../src/core/messages.ts";
import { randomStream } from "../../../src/core/random.ts";
import { callTool } from "../../../src/rollouts/call-tool.ts";
import { drawRequest, type ShopRequest } from "./requests.ts";
import { environment, replay } from "./shop.fixture.ts";
import { wordings } from "./wordings.ts";

// Files of shops lie in a folder of this test alone: what is left in it was forgotten.
const folder = mkdtempSync(join(tmpdir(), "shop-test-"));
const before = process.env.TMPDIR;

beforeAll(() => {
  process.env.TMPDIR = folder;
});

afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(folder, { recursive: true });
});
const leftBehind = () => readdirSync(folder);

// `retrograde-rl env check shop` measures more, and takes a minute: research/notes/demo-smollm2.md has its numbers.
test("the expert solves every request, and none that leaves out one choice does where that comes up", async () => {
  const called: Record<string, number[]> = {};
  for (let i = 0; i < 160; i++) {
    const task = await environment.task("test", i);
    const score = environment.expert?.play(task).score;
    expect(score?.reward).toBe(1);
    for (const name of Object.keys(score?.behaviours ?? {})) {
      called[name] ??= [];
      called[name].push(environment.expert?.play(task, { [name]: "never" }).score.reward ?? 1);
    }
  }
  expect(Object.keys(called).toSorted()).toEqual(["finds the customer", "orders what is left"]);
  for (const rewards of Object.values(called)) {
    expect(rewards.length).toBeGreaterThan(10);
    expect(Math.max(...rewards)).toBe(0);
  }
  expect(leftBehind()).toEqual([]);
});

test("an episode pays for the wanted rows and the right answer together, and for nothing else", async () => {
  const spoilers: Readonly<Record<string, (messages: readonly Message[], request: ShopRequest) => readonly Message[]>> = {
    "another answer": (messages, { wanted }) => [...messages.slice(0, -1), says(`${wanted.answer + 1}`)],
    "no answer": (messages) => [...messages.slice(0, -1), says("Done.")],
    "nothing done, the answer right": (_, { wanted }) => [says(`${wanted.answer}`)],
    "the request again": (messages, { prompt }) => [...messages.slice(0, -1), says(prompt)],
    "another product changed too": (messages, { tables, action }) => {
      const other = tables.products.find(({ name }) => name !== action.product);
      return [calls("set", { product: other?.name, column: "price", value: (other?.price ?? 0) + 1 }), ...messages];
    },
    "a further order": (messages, { tables }) => {
      const [{ name } = { name: "" }] = tables.customers;
      const [row] = tables.stock;
      return [calls("order", { customer: name, product: row?.product, count: 1 }), ...messages];
    },
  };
  let spoilt = 0;
  for (let i = 0; i < 60; i++) {
    const task = await environment.task("test", i);
    const messages = environment.expert?.play(task).messages ?? [];
    expect((await replay(task, messages)).reward).toBe(1);
    for (const [name, spoil] of Object.entries(spoilers)) {
      const changed = spoil(messages, task.request);
      if (changed.length === 0) continue;
      spoilt++;
      expect({ name, i, reward: (await replay(task, changed)).reward }).toEqual({ name, i, reward: 0 });
    }
  }
  expect(spoilt).toBeGreaterThan(250);
  expect(leftBehind()).toEqual([]);
});

const says = (content: string): AssistantMessage => ({ role: "assistant", content });
const calls = (name: string, args: Readonly<Record<string, unknown>>): AssistantMessage => ({
  ...says(""),
  toolCalls: [{ name, arguments: args }],
});

test("a file is gone after its episode, also after one that asked for what is not there or was left in its middle", async () => {
  const task = await environment.task("test", 0);
  const episode = await environment.start(task, 0);
  expect(leftBehind()).toHaveLength(1);
  for (const [name, args, problem] of [
    ["look", { product: "moons", column: "price" }, 'product is "moons"; expected a product of the shop.'],
    ["order", { customer: "Zoe", product: task.request.action.product, count: 1 }, 'customer is "Zoe"'],
    ["set", { product: "x'; drop table orders; --", column: "stock", value: 1 }, "expected a product of the shop"],
    ["set", { product: task.request.action.product, column: "name", value: 1 }, "wrong arguments for set"],
  ] as const)
    expect((await callTool(episode.tools, { name, arguments: args })).content).toContain(problem);
  await episode.close?.();
  await episode.close?.();
  expect(leftBehind()).toEqual([]);
});

test("no text of the challenge is one of training, and no slot stays empty", () => {
  for (const { seen, unseen } of Object.values(wordings)) for (const text of unseen) expect(seen).not.toContain(text);
  for (const words of ["seen", "unseen"] as const)
    for (let i = 0; i < 200; i++) {
      const { prompt, action, named } = drawRequest(randomStream(0, "test", i), words);
      expect(prompt).not.toMatch(/[{}]|undefined/);
      expect(prompt).toContain(action.product);
      if (action.do === "order") for (const name of named) expect(prompt).toContain(name);
    }
});
