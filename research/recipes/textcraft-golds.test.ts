import { expect, test } from "vitest";
import type { ToolCall } from "../../src/core/messages.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { conversationsOf, goldsIn } from "./textcraft-golds.ts";

const step = (target: string, ingredients: Record<string, number>, count = 1) => ({
  ingredients,
  target: [target, count],
  result_count: 4 * count,
});
const task = (targets: object, steps: object[]) =>
  JSON.stringify({ id: "x", misc: { target_items: targets, gold_trajectory: steps } });

/** Two targets: sticks are of planks, and a torch is of sticks, which are known by then. */
const file = [
  task({ stick: 1, torch: 1 }, [
    step("plank", { log: 1 }),
    step("stick", { plank: 2 }),
    step("stick", { plank: 2 }),
    step("torch", { stick: 1 }, 2),
  ]),
  "",
  task({ plank: 1 }, [step("plank", { log: 1 })]),
  task({ plank: 1 }, [step("plank", { log: 2 })]),
  "",
].join("\n");

test("a conversation looks recipes up from a target down, then crafts up to it, and is kept if it earns the reward", async () => {
  const played: [string, number, ToolCall[]][] = [];
  const closed: number[] = [];
  const environment: Pick<Environment, "task" | "start"> = {
    task: (split, index) => ({ id: `${split}/${index}`, request: index }),
    start: ({ id }, seed) => {
      const calls: ToolCall[] = [];
      played.push([id, seed, calls]);
      return {
        messages: [{ role: "user", content: `goal ${id}` }],
        tools: [],
        call: (call) => {
          calls.push(call);
          return call.name === "craft" ? { content: "crafted" } : call.name === "get_info" ? undefined : "empty";
        },
        reply: (message) => {
          expect(message).toEqual({ role: "assistant", content: "Crafted." });
          return { done: true };
        },
        score: () => ({ reward: id === "train/1" ? 0.5 : 1 }),
        close: () => void closed.push(played.length),
      };
    },
  };
  const golds = goldsIn(file);
  expect(golds).toHaveLength(3);
  expect(goldsIn(file, 1)).toEqual(golds.slice(0, 1));
  const lines = await conversationsOf(environment as Environment, golds);
  expect(played.map(([id, seed]) => [id, seed])).toEqual([
    ["train/0", 0],
    ["train/1", 0],
    ["train/2", 0],
  ]);
  expect(closed).toEqual([1, 2, 3]);
  const info = (item: string) => ({ name: "get_info", arguments: { items: [item] } });
  const craft = (target: string, count: number, ingredients: object) => ({
    name: "craft",
    arguments: { ingredients, target: [target, count] },
  });
  expect(played[0]?.[2]).toEqual([
    { name: "view_inventory", arguments: {} },
    info("stick"),
    info("plank"),
    craft("plank", 4, { log: 1 }),
    craft("stick", 4, { plank: 2 }),
    craft("stick", 4, { plank: 2 }),
    info("torch"),
    craft("torch", 8, { stick: 1 }),
  ]);
  const conversations = lines.map((line) => JSON.parse(line));
  expect(conversations.map(({ messages }) => messages[0].content)).toEqual(["goal train/0", "goal train/2"]);
  const asked = (id: string, name: string, given: object, content: string) => [
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(given) } }],
    },
    { role: "tool", tool_call_id: id, content },
  ];
  expect(conversations[1]).toEqual({
    messages: [
      { role: "user", content: "goal train/2" },
      ...asked("call_1", "view_inventory", {}, "empty"),
      ...asked("call_3", "get_info", { items: ["plank"] }, ""),
      ...asked("call_5", "craft", { ingredients: { log: 2 }, target: ["plank", 4] }, "crafted"),
      { role: "assistant", content: "Crafted." },
    ],
  });
});
