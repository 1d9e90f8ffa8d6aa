/** What reasoning-gym.ts trains on: tasks of the Python package reasoning-gym, made once, and the configurations of both stages. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { EnvError } from "../../src/core/errors.ts";
import { jsonOf } from "../../src/core/json.ts";
import { randomStream, seedOf } from "../../src/core/random.ts";
import { defineEnvironment } from "../../src/environments/define.ts";
import type { Environment, Split } from "../../src/environments/environment.ts";
import { writeFileAtomic } from "../../src/files/atomic.ts";
import { trainingTasks } from "../../src/training/config/tasks.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";

/** Tasks of the form, of GRPO, and of the last evaluation. */
const counts = { form: 128, train: 640, test: 256 };

const taskSchema = z.strictObject({
  split: z.string(),
  index: z.int(),
  prompt: z.string(),
  /** Texts that the package's scorer takes for right. Success is to write one, case and spaces apart. */
  answers: z.array(z.string()).min(1),
  /** Answers of a player who knows the form alone. */
  guesses: z.array(z.string()),
});
export type GymTask = z.output<typeof taskSchema>;

/** Generated splits: which places a run trains on, its seed decides. */
const drawnSplits = {
  splits: ["train", "test", "challenge"],
  size: (split: Split) => (split === "train" ? Number.POSITIVE_INFINITY : counts.test),
};

export function gymEnvironment(family: string, tasks: readonly GymTask[]): Environment {
  const byPlace = new Map(tasks.map((task) => [`${task.split}/${task.index}`, task]));
  const plain = (text: string) => text.toLowerCase().replaceAll(/\s/g, "");
  return {
    ...defineEnvironment<GymTask>({
      name: family,
      tasks: [],
      start: ({ answers }) => ({ tools: [], reward: ({ answer }) => Number(answers.map(plain).includes(plain(answer))) }),
    }),
    ...drawnSplits,
    task: (split: Split, index: number) => {
      const request = byPlace.get(`${split}/${index}`);
      if (request === undefined) throw new EnvError(`task ${split}/${index}`, "missing", { expected: "a line of tasks.jsonl" });
      return { id: `${split}/${index}`, request };
    },
  } as Environment;
}

/**
 * The tasks of a run, which the package makes the first time. A place's task is the same for every run; the run's seed decides which places it
 * trains on.
 * @param make tasks as lines of JSON, of seeds one a line
 */
export async function gymTasks(folder: string, seed: number, make: (seeds: string) => string): Promise<GymTask[]> {
  const file = join(folder, "tasks.jsonl");
  if (!existsSync(file)) {
    const numbered: Environment = {
      ...gymEnvironment("reasoning-gym", []),
      task: (split, index) => ({ id: `${split}/${index}` }),
    };
    const drawn = await trainingTasks(numbered, 0, counts.train, seed);
    const ranges = { train: counts.form, test: 64, challenge: counts.test };
    const first = Object.entries(ranges).flatMap(([split, count]) => Array.from({ length: count }, (_, i) => `${split}/${i}`));
    const places = [...new Set([...first, ...drawn.map(({ id }) => id)])].map((id) => id.split("/"));
    const made = make(places.map(([split = "", index]) => `${seedOf(0, "task", split, Number(index)) >>> 1}\n`).join(""));
    const tasks = made.trim().split("\n");
    writeRows(
      file,
      tasks.map((line, i) => ({ split: places[i]?.[0], index: Number(places[i]?.[1]), ...(jsonOf(line) as object) })),
    );
  }
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => taskSchema.parse(jsonOf(line)));
}

/** Writes training tasks with a guess as answer: they teach the form and not the solution. */
export function writeForm(tasks: readonly GymTask[], file: string): void {
  const random = randomStream(0, "form");
  const shown = tasks.filter(({ split, index }) => split === "train" && index < counts.form);
  const rows = shown.map(({ prompt, guesses }) => ({
    messages: [
      { role: "user", content: prompt },
      { role: "assistant", content: guesses[random.integer(guesses.length)] },
    ],
  }));
  writeRows(file, rows);
}

export interface GymRun {
  readonly family: string;
  readonly tasks: readonly GymTask[];
  readonly seed: number;
  readonly device: string;
  readonly threads: number;
  /** The file of `writeForm`. */
  readonly data: string;
  /** Number of tokens of a text. */
  readonly tokens: (text: string) => number;
}

/** The two stages of a run. An answer has four tokens more than the longest right one. */
export function gymConfigs({ family, tasks, seed, device, threads, data, tokens }: GymRun) {
  const answer = Math.max(...tasks.flatMap(({ answers }) => answers.map(tokens)));
  const shared = {
    seed,
    environment: gymEnvironment(family, tasks),
    engine: {
      kind: "local",
      ...{ device, threads },
      lora: { rank: 16, alpha: 32, targets: "all-linear" },
      maxLength: 256,
      memory: 2.6,
    },
    rollout: { tasksPerStep: 16, groupSize: 8, maxTurns: 2, maxTokens: Math.max(12, answer + 4) },
  };
  const form = {
    ...shared,
    algorithm: { kind: "sft", data },
    optimizer: { learningRate: 5e-4 },
    steps: 8,
    evaluation: { tasks: 0 },
  } as UserConfig;
  const reinforcement = {
    ...shared,
    algorithm: { kind: "grpo" },
    optimizer: { learningRate: 4e-4 },
    steps: counts.train / shared.rollout.tasksPerStep,
    evaluation: { split: "challenge", tasks: counts.test, k: 1 },
  } as UserConfig;
  return { form, reinforcement };
}

function writeRows(file: string, rows: readonly object[]): void {
  writeFileAtomic(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
}
