/**
 * Plays the gold trajectories of TextCraft (the Python package `platoon-textcraft`) on its own server and writes those that earn the reward as
 * conversations for `retrograde-rl sft`: research/notes/published-tasks.md.
 *
 *     npx jiti research/recipes/textcraft.ts ors:http://127.0.0.1:8080 textcraft_train.jsonl golds.jsonl
 *
 * A gold is crafts alone, and a task's text is the goal alone. Who crafts has to know the inventory and the recipes, so a conversation looks them
 * up first, as an agent would: the inventory once, then for each target its recipe and those of what has to be crafted for it.
 */
import "../install.ts";
import { readFileSync, writeFileSync } from "node:fs";
import { createEnvironment } from "../../src/environments/registry.ts";
import { conversationsOf, goldsIn } from "./textcraft-golds.ts";

const [name = "", file = "", out = "", limit] = process.argv.slice(2);
const environment = createEnvironment(name, {});
const golds = goldsIn(readFileSync(file, "utf8"), limit === undefined ? undefined : Number(limit));
const lines = await conversationsOf(environment, golds);
writeFileSync(out, `${lines.join("\n")}\n`);
await environment.close?.();
console.log(`${lines.length} of ${golds.length} golds earn the reward`);
