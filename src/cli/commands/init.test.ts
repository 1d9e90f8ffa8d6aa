import "../../../test/office.ts";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeChat } from "../../chat/chat.ts";
import { loadTokenizer } from "../../chat/tokenizer-folder.ts";
import { ConfigError } from "../../core/errors.ts";
import { encodeDemonstration } from "../../rollouts/demonstration.ts";
import { createScreen } from "../../terminal/screen.ts";
import { isEnvironment, resolveConfig } from "../../training/config/config.ts";
import { loadConfigFile } from "../../training/config/config-file.ts";
import { readConversations } from "../../training/supervised/conversations.ts";
import { packageSource } from "../own-package.ts";
import { initCommand } from "./init.ts";

const screen = createScreen({ write: () => true });

test("init writes a folder whose configuration loads, and whose demonstrations the model can be taught by", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-init-")), "task");
  initCommand(folder, screen);
  const files = ["task.ts", "task.test.ts", "demonstrations.jsonl", "retrograde.config.ts", "package.json", "tsconfig.json"];
  for (const file of [...files, ".gitignore", ".npmrc"]) expect(existsSync(join(folder, file)), file).toBe(true);
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  expect(dependencies["retrograde-rl"]).toBe(packageSource(folder));
  const user = await loadConfigFile(undefined, folder);
  expect(resolveConfig(user)).toMatchObject({ environment: { name: "shop" }, algorithm: { kind: "grpo" } });
  if (!isEnvironment(user.environment)) throw new Error("no environment");
  const task = await user.environment.task("train", 0);
  const { tools, messages: opening } = await user.environment.start(task, 0);
  const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../../../models/office")));
  const demonstrations = readConversations(join(folder, "demonstrations.jsonl"));
  expect(demonstrations).toHaveLength(20);
  for (const { messages } of demonstrations) {
    // The system message names the tools, which the bundled model's template does not show.
    expect(messages[0]).toEqual(opening[0]);
    for (const { name } of tools) expect(messages[0].content).toContain(name);
    for (const { context, action } of encodeDemonstration(chat, "d", messages, tools))
      expect(context.length + action.length).toBeLessThan(300);
  }
});

test("init writes over nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-init-"));
  writeFileSync(join(folder, "mine.txt"), "");
  expect(() => initCommand(folder, screen)).toThrow(ConfigError);
});

test("init says what is there, and what is next; a folder with a space is quoted", () => {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-init-")), "my task");
  let text = "";
  initCommand(folder, createScreen({ write: (part: string) => (text += part) }));
  expect(text.split("\n")).toEqual([
    `${folder} has a task that runs: the returns desk of a shop, with four tools.`,
    "",
    "  task.ts                 the environment: tasks, tools, reward",
    "  demonstrations.jsonl    twenty conversations, as the desk's clerks had them",
    "  retrograde.config.ts    model, algorithm, sizes",
    "  task.test.ts            tests of the reward; they need no model",
    "",
    "Next",
    `  cd '${folder}'`,
    "  npm install && npm test",
    "  npm run sft                                        teach the format by demonstrations",
    "  npx retrograde-rl train --model runs/shop-sft-1       then what is right, by reinforcement learning",
    "  npx retrograde-rl chat --model runs/shop-grpo-1       try it",
    "",
    "docs/own-task.md explains every part.",
    "",
  ]);
  expect(() => initCommand(folder, screen)).toThrow(
    `the folder of init is "${folder}"; expected a new or empty folder. Name another one: retrograde-rl init FOLDER.`,
  );
});
