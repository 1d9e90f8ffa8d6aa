import "../../../test/office.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import { lettersTokenizer } from "../../../test/letters.ts";
import { writeTinyModel } from "../../../test/tiny-model.ts";
import { chatCommand } from "./chat.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-chat-"));
const config = join(folder, "retrograde.config.mjs");
const model = join(folder, "model");

// One growing text of letters: an action that ends with s is a call, answered by "tut".
beforeAll(async () => {
  await writeTinyModel(model);
  writeFileSync(
    config,
    `const protocol = {
      actions: {
        stopStrings: ["s"],
        read: (text) => ({ message: { role: "assistant", content: text }, calls: text.endsWith("s") ? [{ name: "tell", arguments: {} }] : [] }),
      },
      continuation: {
        kind: "one-message",
        maxResponseTokens: 60,
        write: (answers) => answers.map(({ content }) => content).join(""),
      },
    };
    const tell = { name: "tell", description: "Tells.", parameters: { type: "object", properties: {} }, execute: () => "tut" };
    export default {
      environment: {
        name: "letters in one text",
        size: (split) => (split === "train" ? 3 : 0),
        task: (split, index) => ({ id: split + "/" + index, question: ["abc", "cab", "bca"][index] }),
        start: ({ question }) => ({
          messages: [{ role: "system", content: "su" }, { role: "user", content: question }],
          tools: [tell],
          protocol,
          reply: () => ({ done: true }),
          score: (conversation) => ({ reward: conversation.filter(({ role }) => role === "tool").length }),
        }),
      },
      model: ${JSON.stringify(model)},
      engine: { threads: 1 },
      rollout: { maxTokens: 20, maxTurns: 4 },
    };`,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

async function chatting(typed: string) {
  let text = "";
  const screen = createScreen({ write: (part: string) => (text += part), columns: 100 });
  const exitCode = await chatCommand({ config, seed: "4" }, screen, Readable.from([typed]));
  return { exitCode, lines: text.split("\n") };
}

test("where a model answers in one growing text, questions are typed or drawn, and what is written, called and answered is shown", async () => {
  const { exitCode, lines } = await chatting(`abba\n/task\n${"cab\n".repeat(6)}/task\n/quit\n`);
  expect(exitCode).toBe(0);
  expect(lines.slice(0, 4)).toEqual([
    "Tools: tell",
    "Somebody in this world might ask: cab",
    "Each question is answered on its own; /task poses one of the environment's, and scores the answer.",
    "An empty line is ignored; /quit or the end of the input ends.",
  ]);
  const shown = lines.slice(4).filter((line) => line !== "");
  const asked = shown.filter((line) => line.startsWith("user"));
  expect(asked.map((line) => line.slice(11))).toEqual(["abba", "/task", "cab", ...Array(6).fill("cab"), "/task", "bca"]);
  // What is called is answered, right behind it.
  const calls = shown.flatMap((line, at) => (/^assistant .*s$/.test(line) ? [at] : []));
  expect(calls.length).toBeGreaterThan(3);
  for (const at of calls) expect(shown[at + 1]).toMatch(/^tool {7}tell → tut$|^reward|^ended|^user/);
  // Drawn tasks are scored, by the calls that were made for them.
  const rewards = shown.flatMap((line, at) => (/^reward \d, \d turns?, ended: /.test(line) ? [at] : []));
  const drawn = shown.flatMap((line, at) => (line === "user       /task" ? [at] : []));
  for (const start of drawn) {
    const end = rewards.find((at) => at > start) ?? -1;
    const made = shown.slice(start, end).filter((line) => line.startsWith("tool")).length;
    expect(Number(/^reward (\d)/.exec(shown[end])?.[1])).toBeGreaterThanOrEqual(made);
  }
});

test("a model without an environment simply talks", async () => {
  let text = "";
  const screen = createScreen({ write: (part: string) => (text += part), columns: 100 });
  const short = join(folder, "short.mjs");
  writeFileSync(short, "export default { engine: { threads: 1 }, rollout: { maxTokens: 100 } };");
  expect(await chatCommand({ config: short, model, seed: "4" }, screen, Readable.from(["cab\nabc\n"]))).toBe(0);
  const roles = text.split("\n").flatMap((line) => /^(user|assistant|Tools)/.exec(line)?.[1] ?? []);
  expect(roles).toEqual(["user", "assistant", "user", "assistant"]);
  expect(text).not.toContain("reward");
});

test("a model whose calls cannot be read is refused before the first question", async () => {
  const unread = join(folder, "unread");
  const shows =
    "{% for message in messages %}{{ message.content }}{% endfor %}{% if tools %}{{ tools[0].function.name[0] }}{% endif %}";
  await writeTinyModel(unread, { ...lettersTokenizer, config: { ...lettersTokenizer.config, chat_template: shows } });
  const office = join(folder, "office.mjs");
  const tool = '{ name: "a", description: "b", parameters: { type: "object", properties: {} }, execute: () => "" }';
  writeFileSync(
    office,
    `export default { model: ${JSON.stringify(unread)}, engine: { threads: 1 }, environment: { name: "one tool", size: () => 1,
      task: () => ({ id: "a" }), start: () => ({ messages: [{ role: "user", content: "a" }], tools: [${tool}], reply: () => ({ done: true }), score: () => ({ reward: 0 }) }) } };`,
  );
  const typed = new Readable({ read: () => {} }); // nobody types anything
  const screen = createScreen({ write: () => true, columns: 100 });
  await expect(chatCommand({ config: office }, screen, typed)).rejects.toThrow(/no calls at all[\s\S]*chat\.format=hermes/);
});
