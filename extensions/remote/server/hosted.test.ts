import { expect, test } from "vitest";
import { z } from "zod";
import { fencedCode } from "../../../src/actions/fenced-code.ts";
import { defineEnvironment } from "../../../src/environments/define.ts";
import type { Episode } from "../../../src/environments/environment.ts";
import { newMessages, oneMessage, type TextProtocol } from "../../../src/environments/protocol.ts";
import { defineTool } from "../../../src/tools/tool.ts";
import { HostedEpisode } from "./hosted.ts";

const python = defineTool({
  ...{ name: "python", description: "Runs Python.", parameters: z.object({ code: z.string() }), timeoutMs: 50 },
  execute: ({ code }) => {
    if (code === "hang") return new Promise<string>(() => {});
    if (code === "fail") throw new Error("broken");
    return `ran ${code}`;
  },
});
const environmentOf = (more: object = {}) =>
  defineEnvironment({
    name: "code",
    tasks: { train: [{ prompt: "Write." }] },
    start: () => ({
      tools: [python],
      reply: ({ content }) => (content === "more" ? "Go on." : undefined),
      afterTools: () => ({ reward: 0.5 }),
      reward: ({ response }) => ({ reward: 2, scores: { length: response.length } }),
      ...more,
    }),
  });
async function start(more: object = {}, maxTurns = 9): Promise<HostedEpisode> {
  const environment = environmentOf(more);
  return HostedEpisode.start(environment, await environment.task("train", 0), 0, { episodeTimeoutMs: 5000, maxTurns });
}
const code = (text: string) => `\`\`\`python\n${text}\n\`\`\``;

test("tools are the environment's, and one that writes a message", async () => {
  const episode = await start();
  expect(episode.tools.map(({ name, description }) => [name, description])).toEqual([
    ["python", "Runs Python."],
    [
      "message_to_user",
      "Writes a message to the user of this episode: a question, or the answer. This tool is the server's; all others are the environment's.",
    ],
  ]);
  expect(episode.tools.at(-1)?.parameters).toEqual({
    ...{ type: "object", properties: { content: { type: "string" } }, required: ["content"], additionalProperties: false },
  });
  expect([episode.done, episode.turns, episode.opening.map(({ content }) => content)]).toEqual([false, 0, ["Write."]]);
});

test("an outcome has its text, reward and error; the last one the episode's score", async () => {
  const episode = await start();
  const call = (args: object) => episode.call("python", args as Record<string, unknown>);
  expect(await call({ code: "1" })).toEqual({ text: "ran 1", reward: 0.5, done: false });
  expect(await call({ code: "fail" })).toEqual({ text: "Error: broken", reward: 0.5, done: false, error: "error" });
  expect(await call({ code: "hang" })).toMatchObject({ reward: 0.5, done: false, error: "timeout" });
  expect(await call({})).toMatchObject({ text: expect.stringContaining("wrong arguments for python"), error: "invalid" });
  expect(episode.turns).toBe(4);
  expect(await episode.call("fly", {})).toEqual({
    text: 'there is no tool "fly". The tools are python, message_to_user.',
    ...{ reward: undefined, done: false, error: "unknown-tool" },
  });
  expect(await episode.call("message_to_user", { content: 3 })).toEqual({
    text: "message_to_user needs content, a text.",
    ...{ reward: undefined, done: false, error: "invalid" },
  });
  // What did not reach the environment is no turn.
  expect(episode.turns).toBe(4);
  expect(await episode.call("message_to_user", { content: "more" })).toEqual({ text: "Go on.", reward: undefined, done: false });
  expect(await episode.call("message_to_user", { content: "done" })).toEqual({
    ...{ text: "", reward: 2, done: true, scores: { length: expect.any(Number) } },
  });
  expect(episode.done).toBe(true);
  await expect(episode.call("python", { code: "1" })).rejects.toThrow(/the episode is "over"; expected a reset/);
});

test("the last turn that is allowed ends the episode, with the reward of the call and of the whole", async () => {
  const episode = await start({}, 2);
  expect(await episode.call("python", { code: "1" })).toMatchObject({ reward: 0.5, done: false });
  expect(await episode.call("python", { code: "2" })).toMatchObject({ text: "ran 2", reward: 2.5, done: true });
  expect([episode.turns, episode.done]).toEqual([2, true]);
});

test("a closed episode is over", async () => {
  let closed = 0;
  const episode = await start({ close: () => void closed++ });
  await episode.close();
  expect([episode.done, closed]).toEqual([true, 1]);
  await expect(episode.call("python", { code: "1" })).rejects.toThrow("over");
});

const protocols: Record<string, TextProtocol> = {
  "messages of their own": { actions: fencedCode(), continuation: newMessages((answer) => `Output: ${answer}`) },
  "one message": {
    actions: fencedCode(),
    continuation: oneMessage((answers) => answers.map(({ content }) => `<result>${content}</result>`).join("")),
  },
};

test.each([
  ["messages of their own", "Output: ran 1", "Go on."],
  ["one message", "<result>ran 1</result>", "<result>Go on.</result>"],
])("a protocol in plain text with %s has the one tool, whose text is read", async (name, result, reply) => {
  const episode = await start({ protocol: protocols[name] });
  expect(episode.tools.map(({ name, description }) => [name, description])).toEqual([
    [
      "message_to_user",
      "Writes the response's next part, as the instructions describe it. This tool is the server's; all others are the environment's.",
    ],
  ]);
  expect((await episode.call("python", { code: "1" })).error).toBe("unknown-tool");
  const write = (content: string) => episode.call("message_to_user", { content });
  expect(await write(code("1"))).toEqual({ text: result, reward: 0.5, done: false });
  expect(await write("more")).toEqual({ text: reply, reward: undefined, done: false });
  expect(await write("That is all.")).toMatchObject({ reward: 2, done: true });
});

test("an unfinished part of a response is a turn without an answer", async () => {
  const actions: TextProtocol["actions"] = {
    read: (text) => ({ message: { role: "assistant", content: text }, calls: [], goesOn: text.endsWith("…") }),
  };
  const replies: string[] = [];
  const reply: Episode["reply"] = ({ content }) => {
    replies.push(content);
    return { done: true };
  };
  const episode = await start({ protocol: { actions, continuation: oneMessage(() => "") }, reply });
  expect(await episode.call("message_to_user", { content: "First…" })).toEqual({ text: "", reward: undefined, done: false });
  expect([episode.turns, replies]).toEqual([1, []]);
});
