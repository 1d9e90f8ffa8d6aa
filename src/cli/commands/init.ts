import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../core/errors.ts";
import { packageFolder } from "../../files/package-folder.ts";
import { quoted } from "../../terminal/invocation.ts";
import type { Screen } from "../../terminal/screen.ts";
import { packageSource } from "../own-package.ts";

const template = join(packageFolder, "templates/own-task");

/**
 * Writes a folder with a task of one's own that runs: environment, configuration, test.
 * @throws ConfigError if the folder has files already
 */
export function initCommand(folder: string, screen: Screen): void {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new ConfigError("the folder of init", folder, {
      expected: "a new or empty folder",
      hint: "Name another one: retrograde-rl init FOLDER.",
    });
  cpSync(template, folder, { recursive: true });
  // npm leaves files of these names out of packages.
  for (const name of ["gitignore", "npmrc"]) renameSync(join(folder, name), join(folder, `.${name}`));
  const manifest = join(folder, "package.json");
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace("PACKAGE_SOURCE", packageSource(folder)));
  const lines = [
    `${folder} has a task that runs: the returns desk of a shop, with four tools.`,
    "",
    "  task.ts                 the environment: tasks, tools, reward",
    "  demonstrations.jsonl    twenty conversations, as the desk's clerks had them",
    "  retrograde.config.ts    model, algorithm, sizes",
    "  task.test.ts            tests of the reward; they need no model",
    "",
    "Next",
    `  cd ${quoted(folder)}`,
    "  npm install && npm test",
    "  npm run sft                                        teach the format by demonstrations",
    "  npx retrograde-rl train --model runs/shop-sft-1       then what is right, by reinforcement learning",
    "  npx retrograde-rl chat --model runs/shop-grpo-1       try it",
    "",
    "docs/own-task.md explains every part.",
  ];
  for (const line of lines) screen.line(line);
}
