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

// One growing text of letters.
beforeAll(async () => {
  await writeTinyModel(model);
  writeFileSync(
    config,
    `const protocol = {
      actions: { stopStrings: [], read: (text) => ({ message: { role: "assistant", content: text }, calls: [] }) },
      continuation: { kind: "one-message", maxResponseTokens: 60, write: () => "" },
    };
    export default {
      environment: {
        name: "letters in one text",
        size: (split) => (split === "train" ? 3 : 0),
        task: (split, index) => ({ id: split + "/" + index, question: ["abc", "cab", "bca"][index] }),
        start: ({ question }) => ({
          messages: [{ role: "system", content: "su" }, { role: "user", content: question }],
          tools: [],
          protocol,
          reply: () => ({ done: true }),
          score: () => ({ reward: 0 }),
        }),
      },
      model: ${JSON.stringify(model)},
      engine: { threads: 1 },
      rollout: { maxTokens: 20, maxTurns: 4 },
    };`,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

test("a world whose model answers in one growing text is refused before the model is loaded", async () => {
  const screen = createScreen({ write: () => true, columns: 100 });
  const chat = chatCommand({ config, seed: "4", model: join(folder, "none") }, screen, Readable.from(["abba\n"]));
  await expect(chat).rejects.toThrow(/letters in one text.*a world of messages.*eval --show 3/);
});

test("a model without an environment simply talks", async () => {
  let text = "";
  const screen = createScreen({ write: (part: string) => (text += part), columns: 100 });
  const short = join(folder, "short.mjs");
  writeFileSync(short, "export default { engine: { threads: 1 }, rollout: { maxTokens: 100, maxTurns: 1 } };");
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
