import { expect, test } from "vitest";
import type { Message } from "../../../src/core/messages.ts";
import type { Environment, Episode } from "../../../src/environments/environment.ts";
import { drawTask, withPerson } from "./chat-worlds.ts";

const sizes = (of: Readonly<Record<string, number>>): Environment => ({
  ...{ name: "world", size: (split) => of[split] ?? 0, task: (split, index) => ({ id: `${split}/${index}` }) },
  start: () => ({ messages: [], tools: [], reply: () => ({ done: true }), score: () => ({ reward: 1 }) }),
});

test.each([
  [{ test: 3, train: 9 }, 4, "test/1"],
  [{ train: 9 }, 4, "train/4"],
  [{ validation: 2, challenge: 5 }, 5, "validation/1"],
])("of the splits %j the seed %i talks in task %s", async (of, seed, id) => {
  expect(await drawTask(sizes(of), seed)).toEqual({ id });
});

test("a world without tasks is an error", async () => {
  await expect(drawTask(sizes({}), 1)).rejects.toThrow("world tasks is 0; expected a split with tasks");
});

const signal = new AbortController().signal;
const tool = (result: unknown) => ({
  name: "look",
  description: "",
  parameters: { type: "object" as const },
  execute: () => result,
});

/** The episode of a person in a world with this one, and all that is shown. */
async function talk(own: Partial<Episode>, answers: readonly (string | undefined)[] = []) {
  const shown: Message[] = [];
  const left = [...answers];
  const world: Environment = {
    ...sizes({ test: 1 }),
    start: () => ({
      messages: [
        { role: "system", content: "rules" },
        { role: "user", content: "its own question" },
      ],
      ...{ tools: [tool({ x: 1 })], reply: () => ({ done: true as const }), score: () => ({ reward: 1 }), ...own },
    }),
  };
  const person = withPerson(
    world,
    "mine",
    async () => left.shift(),
    (message) => shown.push(message),
  );
  return { episode: await person.start({ id: "t" }, 1), shown };
}

test("a person asks instead of the world's user, again and again, and nothing is scored", async () => {
  const { episode, shown } = await talk({}, ["and now?", undefined]);
  expect(episode.messages).toEqual([
    { role: "system", content: "rules" },
    { role: "user", content: "mine" },
  ]);
  const said = { role: "assistant", content: "so" } as const;
  expect(await episode.reply(said)).toEqual({ done: false, messages: [{ role: "user", content: "and now?" }] });
  expect(await episode.reply(said)).toEqual({ done: true });
  expect(shown).toEqual([said, said]);
  expect(await episode.score([])).toEqual({ reward: 0 });
});

test("a tool's call and its result are shown, a text as it is and anything else as JSON", async () => {
  const { episode, shown } = await talk({ tools: [tool({ x: 1 }), { ...tool("words"), name: "read" }] });
  for (const { execute } of episode.tools) await execute({ at: 2 }, { signal });
  expect(shown).toEqual([
    { role: "assistant", content: "", toolCalls: [{ name: "look", arguments: { at: 2 } }] },
    { role: "tool", name: "look", content: '{"x":1}' },
    { role: "assistant", content: "", toolCalls: [{ name: "read", arguments: { at: 2 } }] },
    { role: "tool", name: "read", content: "words" },
  ]);
});

test("calls that the episode answers itself are shown, those that it leaves to a tool are not shown twice", async () => {
  const call = ({ name }: { readonly name: string }) => (name === "look" ? undefined : { content: `no ${name}` });
  let closed = 0;
  const afterTools = () => ({ done: true });
  const { episode, shown } = await talk({ call, afterTools, close: () => void closed++ });
  const made = { name: "fly", arguments: {} };
  expect(await episode.call?.(made, { signal })).toEqual({ content: "no fly" });
  expect(await episode.call?.({ ...made, name: "look" }, { signal })).toBeUndefined();
  expect(shown).toEqual([
    { role: "assistant", content: "", toolCalls: [made] },
    { role: "tool", name: "fly", content: "no fly" },
  ]);
  expect(await episode.afterTools?.([], { role: "assistant", content: "" })).toEqual({ done: true });
  await episode.close?.();
  expect(closed).toBe(1);
  const plain = await talk({});
  expect([plain.episode.call, plain.episode.afterTools, plain.episode.protocol]).toEqual([undefined, undefined, undefined]);
});
