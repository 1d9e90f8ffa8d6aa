import { expect, test } from "vitest";
import { z } from "zod";
import { makeChat } from "../../src/chat/chat.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import type { Message } from "../../src/core/messages.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { measureCopying } from "./copying.ts";

const chat = makeChat(loadTokenizer("models/office"));
const bookRoom = defineTool({
  ...{ name: "book_room", description: "Books a room.", execute: () => "ok" },
  parameters: z.object({ id: z.string(), rate: z.string() }),
});
const messages: Message[] = [
  { role: "user", content: "A room for Demo, which is e10." },
  { role: "assistant", content: "", toolCalls: [{ name: "book_room", arguments: { id: "e10", rate: "flex" } }] },
  { role: "tool", name: "book_room", content: "booked by Kim Lee" },
  { role: "assistant", content: "Kim Lee has booked it for Ana." },
];

/** A model that gives the tokens of these values together the probability p, half of it to the first and the last, and nothing to all others. */
function engineOf(p: number, values: readonly string[]) {
  const rowOf = ({ action }: ActionInContext): number[] => {
    const ends = action.map((_, t) => chat.tokenizer.decode(action.slice(0, t + 1)).length);
    const text = chat.tokenizer.decode(action);
    const row = action.map(() => -9);
    for (const value of values.filter((each) => text.includes(each))) {
      const start = text.indexOf(value);
      const within = [...action.keys()].filter((t) => ends[t] > start && (ends[t - 1] ?? 0) < start + value.length);
      for (const t of within) row[t] = 0;
      row[within[0]] += Math.log(p) / 2;
      row[within[within.length - 1]] += Math.log(p) / 2;
    }
    return row;
  };
  return { logprobs: async (samples: readonly ActionInContext[]) => samples.map(rowOf) };
}

test("what was said before is copied where all of its tokens together have more than one half; what is new is not asked for", async () => {
  const performance = { messages, score: { reward: 1 }, tools: [bookRoom], opening: messages.slice(0, 1) };
  const bare = { ...performance, messages: messages.slice(1) };
  const measured = (p: number) => measureCopying(engineOf(p, ["e10", "Kim Lee"]), chat, [performance, bare]);
  // "flex" and "Ana" are new.
  const places = (copied: number) => [
    { place: "book_room.id", values: 2, copied },
    { place: "words", values: 2, copied },
  ];
  expect(await measured(0.51)).toEqual(places(1));
  expect(await measured(0.49)).toEqual(places(0));
});
