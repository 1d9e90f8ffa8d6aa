import { join } from "node:path";
import { ConfigError } from "../../src/core/errors.ts";
import type { Environment } from "../../src/environments/environment.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import type { Stage } from "./stages.ts";
import type { TokenizerOptions } from "./tokenizer.ts";

type Arm = Pick<UserConfig, "algorithm" | "steps">;
interface Game {
  /** The package's name of it, and what its constructor takes. */
  readonly variant: string;
  readonly settings: object;
  readonly tokens: TokenizerOptions;
  /** Of SFT. */
  readonly steps: number;
  readonly arms: Readonly<Record<string, Arm>>;
}

/** What both games write in one token: a move, a line, line ends. */
const commonPieces = ["\\[[a-z]+\\]", " *['A-Z][^\\n]*\\n*", "\\n+", "[^\\n]"];
const vocabularySize = 620;
const testTasks = 256;

const lake: Game = {
  variant: "FrozenLake-v0-raw",
  settings: { size: 5, num_holes: 5 },
  // A cell with the bar before it; a line between rows.
  tokens: { pieces: ["\\| {2}[PHG ] {2}", "\\|?\\n*\\+[-+]+\\+\\n*", ...commonPieces], vocabularySize },
  steps: 500,
  arms: {},
};

const games: Readonly<Record<string, Game>> = {
  "frozen-lake-5": lake,
  // Taught so little that rewards have something left to teach. The steps are those of about 32,000 sampled moves.
  "frozen-lake-5-early": {
    ...lake,
    steps: 250,
    arms: {
      grpo: { algorithm: { kind: "grpo", miniBatches: 4 }, steps: 40 },
      dapo: { algorithm: { kind: "dapo", miniBatches: 4 }, steps: 21 },
      arpo: { algorithm: { kind: "arpo", miniBatches: 4 }, steps: 46 },
    },
  },
  sokoban: {
    variant: "Sokoban-v0-raw",
    settings: { dim_room: [6, 6], num_boxes: 1, max_turns: 12 },
    // A cell with the space or the line's end behind it.
    tokens: { pieces: ["[#_OX√PS][ \\n]", " *-[^\\n]*\\n*", ...commonPieces], vocabularySize },
    steps: 500,
    arms: {},
  },
};

/** @throws ConfigError for a name that no game has */
export function gameNamed(name: string): Game {
  const game = games[name];
  if (game === undefined) throw new ConfigError("game", name, { expected: Object.keys(games) });
  return game;
}

/** The first messages of the tasks that are tested, which no walk may come by. */
export function testedMaps(environment: Environment): Promise<(string | undefined)[]> {
  return Promise.all(
    Array.from({ length: testTasks }, async (_, index) => {
      const episode = await environment.start(await environment.task("test", index), 0);
      await episode.close?.();
      return episode.messages[0]?.content;
    }),
  );
}

/** The start, on the walks `start.jsonl` and the model `start.model` of a folder, then each arm by each seed. */
export function gridStages(game: Game, environment: Environment, out: string, seeds: readonly number[]): Stage[] {
  const shared = {
    environment,
    engine: { kind: "local", threads: 1, maxLength: 768 },
    rollout: { maxTurns: 12, tasksPerStep: 8, groupSize: 16, maxTokens: 6, concurrency: 32 },
    evaluation: { split: "test", tasks: testTasks, k: 1, greedy: true },
  } as const;
  const start = join(out, "start");
  const taught: UserConfig = {
    ...{ ...shared, seed: 1, steps: game.steps, optimizer: { learningRate: 1.5e-3 } },
    algorithm: { kind: "sft", data: `${start}.jsonl`, tokensPerStep: 4000 },
  };
  const arms = seeds.flatMap((seed) =>
    Object.entries(game.arms).map(([arm, own]): Stage => {
      const config = { ...shared, ...own, seed, optimizer: { learningRate: 2e-4 } };
      return { config, folder: join(out, `${arm}-${seed}`), model: start };
    }),
  );
  return [{ config: taught, folder: start, model: `${start}.model` }, ...arms];
}
