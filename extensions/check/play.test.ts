import { expect, test } from "vitest";
import { z } from "zod";
import type { AssistantMessage, Message } from "../../src/core/messages.ts";
import { defineEnvironment } from "../../src/environments/define.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { measureOverlap } from "./overlap.ts";
import { playScript, playThrough, type View } from "./play.ts";

const limits = { timeoutMs: 1000 };
const said = (content: string): AssistantMessage => ({ role: "assistant", content });
const calls = (...names: readonly string[]): AssistantMessage => ({
  ...{ role: "assistant", content: "" },
  toolCalls: names.map((name) => ({ name, arguments: name === "add" ? { by: 2 } : {} })),
});
/** A counter: tools add to it, and a message ends the episode unless it asks. */
function counter(more: object = {}) {
  let counted = 0;
  return defineEnvironment({
    name: "counter",
    tasks: { train: [{ prompt: "Count to 4." }] },
    start: () => ({
      tools: [
        defineTool({
          ...{ name: "add", description: "Adds.", parameters: z.object({ by: z.int() }) },
          execute: ({ by }) => ({ now: (counted += by) }),
        }),
      ],
      reply: (message: { content: string }) => (message.content.endsWith("?") ? "Yes." : undefined),
      reward: () => counted / 4,
      ...more,
    }),
  }) as unknown as Environment;
}
async function played(environment: Environment, ...script: readonly AssistantMessage[]) {
  const views: View[] = [];
  let at = 0;
  const task = await environment.task("train", 0);
  const { score, conversation } = await playThrough(
    environment,
    task,
    (view) => {
      views.push({ ...view, conversation: [...view.conversation] });
      return script[at++] ?? script[script.length - 1];
    },
    limits,
  );
  return { reward: score.reward, conversation, views };
}
const asked: Message = { role: "user", content: "Count to 4." };

test("a script plays an episode to its end: calls are answered in their order, and messages by the user", async () => {
  const { reward, conversation, views } = await played(
    counter(),
    calls("add", "gone"),
    said("Enough?"),
    calls("add"),
    said("Done."),
  );
  expect(reward).toBe(1);
  expect(conversation).toEqual([
    asked,
    calls("add", "gone"),
    { role: "tool", name: "add", content: '{"now":2}' },
    { role: "tool", name: "gone", content: expect.stringMatching(/^Error: .*gone/) },
    said("Enough?"),
    { role: "user", content: "Yes." },
    calls("add"),
    { role: "tool", name: "add", content: '{"now":4}' },
    said("Done."),
  ]);
  expect(views.map((view) => view.conversation.length)).toEqual([1, 4, 6, 8]);
  expect(views[0]?.tools.map(({ name }) => name)).toEqual(["add"]);
});

test("a script that does not come to an end has no score, after the episode's turns or sixty", async () => {
  const endless = await played(counter(), said("More?"));
  expect([endless.reward, endless.views.length]).toEqual([0, 60]);
  const short = await played(counter({ limits: { turns: 2 } }), calls("add"));
  expect([short.reward, short.views.length]).toEqual([0, 2]);
  const environment = counter();
  const task = await environment.task("train", 0);
  expect(await playScript(environment, task, () => said("Done."), limits)).toMatchObject({ reward: 0 });
});

test("in an episode with a protocol calls are read from the text", async () => {
  const protocol = {
    actions: {
      stopStrings: [],
      read: (text: string) =>
        text.startsWith("!")
          ? {
              message: said(text),
              calls: text === "!bad" ? [{ error: "not readable" }] : [{ name: "add", arguments: { by: 4 } }],
            }
          : { message: said(`${text}`), calls: [] },
    },
    continuation: { kind: "messages", write: () => "" },
  };
  const base = counter();
  const environment: Environment = {
    ...base,
    start: async (task, seed) => ({ ...(await base.start(task, seed)), protocol: protocol as never }),
  };
  const { reward, conversation } = await played(environment, said("!bad"), said("!add"), said("Done."));
  expect([reward, ...conversation.slice(1)]).toEqual([
    1,
    said("!bad"),
    { role: "tool", name: "tool_call", content: "Error: not readable" },
    said("!add"),
    { role: "tool", name: "add", content: '{"now":4}' },
    said("Done."),
  ]);
});

test("overlap is of different texts of users, those of the expert's conversations included", async () => {
  const of = (prompts: readonly string[]) => prompts.map((prompt) => ({ prompt }));
  const environment = defineEnvironment({
    name: "say",
    tasks: { train: of(["a", "b", "b"]), test: of(["b", "c", "b"]), challenge: of(["a"]) },
    start: () => ({ tools: [], reward: () => 1 }),
  }) as unknown as Environment;
  const counts = { train: 10, others: 10 };
  const shared = (texts: number, both: number, split = "test") => ({ split, texts, shared: both });
  expect(await measureOverlap(environment, 1, counts)).toEqual([shared(2, 1), shared(1, 1, "challenge")]);
  expect(await measureOverlap(environment, 1, { train: 0, others: 10 })).toEqual([shared(2, 0), shared(1, 0, "challenge")]);
  expect(await measureOverlap(environment, 1, { train: 10, others: 1 })).toEqual([shared(1, 1), shared(1, 1, "challenge")]);
  const expertOf = (first: Message) => ({
    behaviours: [],
    play: () => ({ messages: [first, said("x"), { role: "user", content: "z" } as const], score: { reward: 1 } }),
  });
  // One that begins with the user has what it was asked; one that begins by itself has it in the opening.
  expect(await measureOverlap({ ...environment, expert: expertOf({ role: "user", content: "y" }) }, 1, counts)).toEqual([
    ...[shared(2, 2), shared(2, 2, "challenge")],
  ]);
  expect(await measureOverlap({ ...environment, expert: expertOf(said("w")) }, 1, counts)).toEqual([
    ...[shared(3, 2), shared(2, 2, "challenge")],
  ]);
});
