/**
 * One model plays both sides of a game of TextArena, and learns from both (docs/rollouts.md, Roles):
 *
 *     pip install openenv==0.10.0 textarena==0.7.4
 *     python research/recipes/textarena-server.py Nim-v0-raw 8000 '{"players": 2}'
 *     npx jiti research/recipes/self-play.ts openenv:ws://127.0.0.1:8000 runs/nim 10
 */
import "../../extensions/install.ts";
import { z } from "zod";
import { runTraining } from "../../src/cli/commands/train.ts";
import type { Message } from "../../src/core/messages.ts";
import { roleScore } from "../../src/core/trajectory.ts";
import type { Environment, Episode } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";

const players = ["first", "second"] as const;
const screenSchema = z.object({ text: z.string(), player: z.union([z.literal(0), z.literal(1)]) });

/** A two-player game on a server of textarena-server.py. Each player reads its own screens. */
export function gameOfTwo(address: string): Environment {
  const game = createEnvironment(address, { actions: "text" });
  return {
    name: "self-play",
    roles: players,
    metrics: players.map(roleScore),
    size: (split) => game.size(split),
    task: (split, index) => game.task(split, index),
    start: async (task, seed) => ofTwo(await game.start(task, seed)),
    open: () => game.open?.(),
    close: () => game.close?.(),
  };
}

/** An episode of a game whose screens are `{"text", "player"}` and whose reward is the first player's. */
export function ofTwo(episode: Episode): Episode {
  return {
    ...shown(episode.messages),
    tools: [],
    reply: async (message) => {
      const reply = await episode.reply(message);
      return reply.done ? { done: true } : { done: false, ...shown(reply.messages) };
    },
    score: async (conversation) => {
      const { reward } = await episode.score(conversation);
      return { reward, scores: { [roleScore("first")]: reward, [roleScore("second")]: 0 - reward } };
    },
    close: () => episode.close?.(),
  };
}

/** The player that acts next, and what it reads. */
function shown(messages: readonly Message[]) {
  const { text, player } = screenSchema.parse(JSON.parse(messages.at(-1)?.content ?? ""));
  return { role: players[player], messages: [{ role: "user", content: text }] } as const;
}

if (process.argv[1]?.endsWith("self-play.ts") === true) {
  const [address = "", out = "runs/self-play", steps = "10"] = process.argv.slice(2);
  const config = {
    ...{ environment: gameOfTwo(address), model: "smollm2", algorithm: "grpo", steps: Number(steps), seed: 1, out },
    engine: { kind: "local", lora: { rank: 16, alpha: 32, targets: "all-linear" }, maxLength: 1024 },
    rollout: { tasksPerStep: 4, groupSize: 8, maxTurns: 12, maxTokens: 8, concurrency: 32 },
    evaluation: { tasks: 32, k: 1, greedy: false },
  } as const satisfies UserConfig;
  process.exitCode = await runTraining(config, { out }, { dashboard: false }, createScreen(process.stdout));
}
