/**
 * A model of 2 million parameters learns TextArena's FrozenLake or Sokoban from nothing: research/notes/search-and-compute.md and sokoban.md there.
 *
 *     pip install openenv==0.10.0 textarena==0.7.4
 *     python research/recipes/textarena-server.py Sokoban-v0-raw 9481 '{"dim_room": [6, 6], "num_boxes": 1, "max_turns": 12}'
 *     npx jiti research/recipes/grid-games.ts sokoban runs/sokoban [SEEDS]
 *
 * First the start: a model taught by a solver's walks, with which every arm of the game begins. Then each arm by each seed. Called again, it
 * continues where it was stopped.
 */
import "../../extensions/install.ts";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { saveModel } from "../../extensions/local/model/model-folder.ts";
import type { Message } from "../../src/core/messages.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { gameNamed, gridStages, testedMaps } from "./grid-stages.ts";
import { newModel } from "./new-model.ts";
import { runStages } from "./stages.ts";

const [name = "", out = "", seeds = "11,12,13"] = process.argv.slice(2);
const game = gameNamed(name);
const environment: Environment = createEnvironment("openenv:ws://127.0.0.1:9481", { actions: "text", replayable: true });
const start = join(out, "start");
mkdirSync(out, { recursive: true });
if (!existsSync(`${start}.jsonl`)) {
  writeFileSync(`${start}.tested.json`, JSON.stringify(await testedMaps(environment)));
  const script = fileURLToPath(new URL("grid-walks.py", import.meta.url));
  const walks = [game.variant, JSON.stringify(game.settings), "20000", `${start}.tested.json`, `${start}.jsonl`];
  execFileSync("python3", ["-W", "ignore", script, ...walks], { stdio: "inherit" });
}
if (!existsSync(`${start}.model`)) {
  const lines = readFileSync(`${start}.jsonl`, "utf8").trim().split("\n").slice(0, 300);
  const walks = lines.map((line) => (JSON.parse(line) as { messages: Message[] }).messages);
  await saveModel(`${start}.model`, newModel(walks, game.tokens, 1).start, { dtype: "float32" });
}
const stages = gridStages(game, environment, out, seeds.split(",").map(Number));
process.exitCode = await runStages(stages, createScreen(process.stdout));
