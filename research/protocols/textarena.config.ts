/**
 * What `npm run research -- protocol make|run --config research/protocols/textarena.config.ts` plays: a game of TextArena, served by
 *
 *     python research/recipes/textarena-server.py FrozenLake-v0-raw 9481 '{"size": 5, "num_holes": 5}'
 *     python research/recipes/textarena-server.py Sokoban-v0-raw 9481 '{"dim_room": [6, 6], "num_boxes": 1, "max_turns": 12}'
 */
import type { UserConfig } from "../../src/training/config/user-config.ts";

export default {
  environment: { name: "openenv:ws://127.0.0.1:9481", settings: { actions: "text" } },
  engine: { kind: "local", threads: 1, maxLength: 768 },
  rollout: { maxTurns: 12, maxTokens: 6, concurrency: 32 },
  evaluation: { tasks: 256, k: 1, greedy: true },
} satisfies UserConfig;
