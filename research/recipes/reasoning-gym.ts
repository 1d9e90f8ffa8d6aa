/**
 * SmolLM2-135M-Instruct learns a family of the Python package reasoning-gym: docs/published-tasks.md.
 *
 *     pip install reasoning-gym==0.1.25
 *     npx jiti research/recipes/reasoning-gym.ts --family needle_haystack --seed 11 --out runs/needle_haystack-11
 *
 * The form of an answer, by demonstrations that guess, then GRPO. The package makes its tasks once, in OUT/tasks.jsonl; with this file there the run
 * needs no Python. Called again, it continues where it was stopped. With --tasks it writes OUT/challenge.jsonl alone, which `retrograde-rl scan` and
 * `npm run research -- protocol make` read.
 */
import "../install.ts";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import { loadTokenizer } from "../../entries/engine.ts";
import { runTraining } from "../../src/cli/commands/train.ts";
import { EnvError } from "../../src/core/errors.ts";
import { jsonOf } from "../../src/core/json.ts";
import { randomStream, seedOf } from "../../src/core/random.ts";
import { defineEnvironment } from "../../src/environments/define.ts";
import type { Environment, Split } from "../../src/environments/environment.ts";
import { writeFileAtomic } from "../../src/files/atomic.ts";
import { layout } from "../../src/runs/layout.ts";
import { readSummary } from "../../src/runs/read.ts";
import { modelFolder } from "../../src/sdk/model.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { trainingTasks } from "../../src/training/config/tasks.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";

const { values } = parseArgs({
  options: {
    family: { type: "string", default: "needle_haystack" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    device: { type: "string", default: "cpu" },
    threads: { type: "string", default: "1" },
    python: { type: "string", default: "python3" },
    /** Only writes the tasks, and those that are measured as questions with answers. */
    tasks: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
const out = values.out ?? `runs/${values.family}-${seed}`;
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
type GymTask = z.output<typeof taskSchema>;

/** Generated splits: which places a run trains on, its seed decides. */
const drawnSplits = {
  splits: ["train", "test", "challenge"],
  size: (split: Split) => (split === "train" ? Number.POSITIVE_INFINITY : counts.test),
};

const screen = createScreen(process.stdout);
const tokenizer = loadTokenizer(await modelFolder(resolveConfig({ model: "smollm2" })));
const tokens = (text: string) => tokenizer.encode(text).length;

mkdirSync(out, { recursive: true });
const { form, reinforcement } = await configs(values.family, out);
if (!values.tasks && (await stage(form, join(out, "form"), "smollm2")) === 0)
  process.exitCode = await stage(reinforcement, join(out, "grpo"), join(out, "form"));

/** The two stages of a run, with its tasks made and written. */
async function configs(family: string, folder: string) {
  mkdirSync(folder, { recursive: true });
  const tasks = await tasksIn(family, folder);
  const data = join(folder, "form.jsonl");
  if (!existsSync(data)) writeForm(tasks, data);
  const prompt = Math.max(...tasks.map((task) => tokens(task.prompt)));
  const answer = Math.max(...tasks.flatMap(({ answers }) => answers.map(tokens)));
  const shared = {
    seed,
    environment: environmentOf(family, tasks),
    engine: {
      kind: "local",
      device: values.device,
      threads: Number(values.threads),
      lora: { rank: 16, alpha: 32, targets: "all-linear" },
      maxLength: prompt + answer <= 200 ? 256 : 512,
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

/** @returns the exit code */
async function stage(config: UserConfig, folder: string, model: string): Promise<number> {
  const isBegun = existsSync(layout.run(folder));
  if (isBegun && readSummary(folder) !== undefined) return 0;
  return runTraining({ ...config, model, out: folder }, { out: folder }, { resume: isBegun, dashboard: false }, screen);
}

function environmentOf(family: string, tasks: readonly GymTask[]): Environment {
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

/** The tasks of a run, which the package makes the first time. A place's task is the same for every run; the seed decides which places it trains on. */
async function tasksIn(family: string, folder: string): Promise<GymTask[]> {
  const file = join(folder, "tasks.jsonl");
  if (!existsSync(file)) {
    const numbered: Environment = { ...environmentOf(family, []), task: (split, index) => ({ id: `${split}/${index}` }) };
    const drawn = await trainingTasks(numbered, 0, counts.train, seed);
    const ranges = { train: counts.form, test: 64, challenge: counts.test };
    const first = Object.entries(ranges).flatMap(([split, count]) => Array.from({ length: count }, (_, i) => `${split}/${i}`));
    const places = [...new Set([...first, ...drawn.map(({ id }) => id)])].map((id) => id.split("/"));
    const made = python([family], places.map(([split, index]) => `${seedOf(0, "task", split, Number(index)) >>> 1}\n`).join(""));
    const rows = made
      .trim()
      .split("\n")
      .map((line, i) => ({ split: places[i]?.[0], index: Number(places[i]?.[1]), ...(jsonOf(line) as object) }));
    writeFileAtomic(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  }
  const read = (line: string) => taskSchema.parse(jsonOf(line));
  const tasks = readFileSync(file, "utf8").trim().split("\n").map(read);
  const asked = tasks.filter(({ split }) => split === "challenge");
  const rows = asked.map(({ index, prompt, answers }) => ({ id: `challenge/${index}`, prompt, answer: answers }));
  if (values.tasks) writeFileAtomic(join(folder, "challenge.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return tasks;
}

/** Writes training tasks with a guess as answer: they teach the form and not the solution. */
function writeForm(tasks: readonly GymTask[], file: string): void {
  const random = randomStream(0, "form");
  const shown = tasks.filter(({ split, index }) => split === "train" && index < counts.form);
  const rows = shown.map(({ prompt, guesses }) => ({
    messages: [
      { role: "user", content: prompt },
      { role: "assistant", content: guesses[random.integer(guesses.length)] },
    ],
  }));
  writeFileAtomic(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
}

function python(args: readonly string[], input = ""): string {
  const program = fileURLToPath(new URL("reasoning-gym.py", import.meta.url));
  const { stdout, status, error } = spawnSync(values.python, ["-W", "ignore", program, ...args], {
    input,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: ["pipe", "pipe", "inherit"],
  });
  if (status === 0) return stdout;
  throw new EnvError(values.python, error?.message ?? status, {
    expected: "a Python with reasoning-gym 0.1.25",
    hint: "pip install reasoning-gym==0.1.25, and name its python with --python.",
  });
}
