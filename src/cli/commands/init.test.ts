import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeChat } from "../../chat/chat.ts";
import { loadTokenizer } from "../../chat/tokenizer-folder.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Environment } from "../../environments/environment.ts";
import { encodeDemonstration } from "../../rollouts/demonstration.ts";
import { isEnvironment, resolveConfig } from "../../training/config.ts";
import { loadConfigFile } from "../../training/config-file.ts";
import { createScreen } from "../screen.ts";
import { initCommand } from "./init.ts";

const screen = createScreen({ write: () => true });

test("init writes a folder whose configuration loads, whose expert earns the reward, and whose model can be taught by it", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-init-")), "task");
  initCommand(folder, screen);
  for (const file of ["task.ts", "task.test.ts", "retrograde.config.ts", "package.json", ".gitignore"])
    expect(existsSync(join(folder, file)), file).toBe(true);
  const user = await loadConfigFile(undefined, folder);
  expect(resolveConfig(user)).toMatchObject({ environment: { name: "shop" }, algorithm: { kind: "grpo" } });
  if (!isEnvironment(user.environment)) throw new Error("no environment");
  const shop: Environment = user.environment;
  const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../../../models/office-classic")));
  for (let i = 0; i < 10; i++) {
    const task = await shop.task("train", i);
    const episode = await shop.start(task, 0);
    const messages = (await shop.demonstrate?.(task, 0)) ?? [];
    expect((await episode.score(messages)).reward).toBe(1);
    expect((await episode.score([...messages, { role: "assistant", content: "I do not know." }])).reward).toBe(0);
    // The system message names the tools, which the bundled model's template does not show.
    expect(messages[0].content).toContain("find_item");
    for (const { context, action } of encodeDemonstration(chat, "d", messages, episode.tools))
      expect(context.length + action.length).toBeLessThan(300);
  }
});

test("init writes over nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-init-"));
  writeFileSync(join(folder, "mine.txt"), "");
  expect(() => initCommand(folder, screen)).toThrow(ConfigError);
});
