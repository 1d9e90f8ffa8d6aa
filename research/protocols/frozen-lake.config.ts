/**
 * What `npm run research -- protocol make|run --config research/protocols/frozen-lake.config.ts` plays: TextArena's FrozenLake on 5 × 5 cells. Its
 * server: `python research/recipes/textarena-server.py FrozenLake-v0-raw 9481 '{"size": 5, "num_holes": 5}'`.
 */
import type { UserConfig } from "../../src/training/config/user-config.ts";

export default {
  environment: { name: "openenv:ws://127.0.0.1:9481", settings: { actions: "text" } },
  engine: { kind: "local", threads: 1, maxLength: 768 },
  rollout: { maxTurns: 12, maxTokens: 6, concurrency: 32 },
  evaluation: { tasks: 256, k: 1, greedy: true },
} satisfies UserConfig;
