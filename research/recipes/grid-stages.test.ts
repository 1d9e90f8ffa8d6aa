import { expect, test } from "vitest";
import type { Environment } from "../../src/environments/environment.ts";
import { gameNamed, gridStages, testedMaps } from "./grid-stages.ts";
import { newModel } from "./new-model.ts";

const environment: Environment = {
  name: "grid",
  size: () => 300,
  task: (split, index) => ({ id: `${split}/${index}` }),
  start: ({ id }) => ({
    messages: [{ role: "user", content: `Map ${id}` }],
    tools: [],
    reply: () => ({ done: true }),
    score: () => ({ reward: 0 }),
  }),
};

test("an early lake has one start and each arm by each seed", () => {
  const game = gameNamed("frozen-lake-5-early");
  const shared = {
    environment,
    engine: { kind: "local", threads: 1, maxLength: 768 },
    rollout: { maxTurns: 12, tasksPerStep: 8, groupSize: 16, maxTokens: 6, concurrency: 32 },
    evaluation: { split: "test", tasks: 256, k: 1, greedy: true },
  };
  const arm = (kind: string, steps: number, seed: number) => ({
    config: { ...shared, seed, steps, algorithm: { kind, miniBatches: 4 }, optimizer: { learningRate: 2e-4 } },
    folder: `out/${kind}-${seed}`,
    model: "out/start",
  });
  expect(gridStages(game, environment, "out", [11, 12])).toEqual([
    {
      config: {
        ...{ ...shared, seed: 1, steps: 250, optimizer: { learningRate: 1.5e-3 } },
        algorithm: { kind: "sft", data: "out/start.jsonl", tokensPerStep: 4000 },
      },
      folder: "out/start",
      model: "out/start.model",
    },
    ...[11, 12].flatMap((seed) => [arm("grpo", 40, seed), arm("dapo", 21, seed), arm("arpo", 46, seed)]),
  ]);
});

test.each([
  ["frozen-lake-5", "FrozenLake-v0-raw", { size: 5, num_holes: 5 }],
  ["sokoban", "Sokoban-v0-raw", { dim_room: [6, 6], num_boxes: 1, max_turns: 12 }],
])("%s has the start alone, of 500 steps", (name, variant, settings) => {
  const game = gameNamed(name);
  expect(game).toMatchObject({ variant, settings });
  expect(gridStages(game, environment, "out", [11]).map(({ folder, config }) => [folder, config.steps])).toEqual([
    ["out/start", 500],
  ]);
});

test("another game is refused", () => {
  expect(() => gameNamed("chess")).toThrow('game is "chess"; expected "frozen-lake-5", "frozen-lake-5-early" or "sokoban"');
});

test("the maps of 256 test tasks are kept from the walks", async () => {
  const maps = await testedMaps(environment);
  expect(maps).toEqual(Array.from({ length: 256 }, (_, i) => `Map test/${i}`));
});

test.each([
  {
    name: "frozen-lake-5",
    drawing: "Current Board:\n\n+-----+-----+\n|  P  |     |\n+-----+-----+\n|  H  |  G  |\n+-----+-----+\n\n",
    tokens: [
      "Current Board:\n\n",
      "+-----+-----+\n",
      "|  P  ",
      "|     ",
      "|\n+-----+-----+\n",
      "|  H  ",
      "|  G  ",
      "|\n+-----+-----+\n\n",
    ],
  },
  { name: "sokoban", drawing: "# # #\n# P O\n ----\n", tokens: ["# ", "# ", "#\n", "# ", "P ", "O\n", " ----\n"] },
])("to $name a cell is one token, and so is a move", ({ name, drawing, tokens }) => {
  const walk = [
    { role: "user", content: drawing },
    { role: "assistant", content: "[right]" },
  ] as const;
  const { chat } = newModel([walk], gameNamed(name).tokens, 1);
  const ids = chat.tokenizer.encode(`${drawing}[right]`);
  expect(ids.map((id) => chat.tokenizer.decode([id]))).toEqual([...tokens, "[right]"]);
});
