/**
 * SmolLM2-135M-Instruct learns `needle_haystack` of the Python package reasoning-gym, served over OpenEnv: docs/published-tasks.md.
 *
 *     pip install openenv==0.10.0 reasoning-gym==0.1.25
 *     npx jiti research/recipes/needle.ts --seed 11 --out runs/needle-11
 *
 * First the form of an answer, by demonstrations that name one of the text's names at random; then GRPO. Called again, it continues where it was
 * stopped. The server's port is part of a run's record, so it stays the same.
 */
import "../install.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runTraining } from "../../src/cli/commands/train.ts";
import type { Message } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { layout } from "../../src/runs/layout.ts";
import { readSummary } from "../../src/runs/read.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    /** Settings are chosen on "validation". */
    split: { type: "string", default: "test" },
    rate: { type: "string", default: "4e-4" },
    threads: { type: "string", default: "1" },
    port: { type: "string", default: "9480" },
    python: { type: "string", default: "python3" },
    /** Writes the split's tasks with their answers there, for `npm run research -- protocol make`, and trains nothing. */
    tasks: { type: "string" },
  },
});
const seed = Number(values.seed);
const out = values.out ?? `runs/needle-${seed}`;
const address = `127.0.0.1:${values.port}`;
const statements = { min_num_statements: 3, max_num_statements: 5 };

const shared = {
  seed,
  environment: { name: `openenv:ws://${address}`, settings: { actions: "text" } },
  engine: {
    kind: "local",
    threads: Number(values.threads),
    lora: { rank: 16, alpha: 32, targets: "all-linear" },
    maxLength: 256,
    memory: 2.6,
  },
  rollout: { tasksPerStep: 16, groupSize: 8, maxTurns: 2, maxTokens: 12 },
} as const satisfies UserConfig;
const form = {
  ...shared,
  algorithm: { kind: "sft", data: join(out, "form.jsonl") },
  optimizer: { learningRate: 5e-4 },
  steps: 8,
  evaluation: { tasks: 0 },
} as const satisfies UserConfig;
const reinforcement = {
  ...shared,
  algorithm: { kind: "grpo" },
  optimizer: { learningRate: Number(values.rate) },
  steps: 40,
  evaluation: { split: values.split, tasks: 256, k: 1 },
} as const satisfies UserConfig;

const screen = createScreen(process.stdout);
const server = spawn(
  values.python,
  [
    "-W",
    "ignore",
    fileURLToPath(new URL("reasoning-gym-server.py", import.meta.url)),
    "needle_haystack",
    values.port,
    JSON.stringify(statements),
  ],
  { stdio: ["ignore", "inherit", "inherit"] },
);
try {
  await started();
  if (values.tasks === undefined) await train();
  else await writeTasks(values.tasks, reinforcement.evaluation.tasks);
} finally {
  server.kill();
}

async function train(): Promise<void> {
  mkdirSync(out, { recursive: true });
  if (!existsSync(form.algorithm.data)) await writeForm(form.algorithm.data, 128);
  if ((await stage(form, join(out, "form"), "smollm2")) === 0)
    process.exitCode = await stage(reinforcement, join(out, "grpo"), join(out, "form"));
}

/** Waits until the server answers. @throws Error if it ended, such as for a port that is taken */
async function started(): Promise<void> {
  const ended = once(server, "exit").then(([code]) => {
    throw new Error(`the server ended with ${code}: are openenv and reasoning-gym installed for ${values.python}?`);
  });
  const up = async () => {
    while (
      !(await fetch(`http://${address}/schema`).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await sleep(300);
  };
  await Promise.race([ended, up()]);
  ended.catch(() => {}); // at the end it is killed
}

/** Writes training tasks with one of the text's names as answer, drawn at random: they teach the form and not the solution. */
async function writeForm(file: string, count: number): Promise<void> {
  const random = randomStream(0, "form");
  await writeRows(file, "train", count, ({ messages }) => {
    const sentences = messages[0]?.content.split("\n")[0]?.split(". ") ?? [];
    const names = sentences.flatMap((sentence) => sentence.trim().split(" ")[0] || []);
    return { messages: [...messages, { role: "assistant", content: names[random.integer(names.length)] }] };
  });
}

/** Writes a split's tasks with the package's answers. */
async function writeTasks(file: string, count: number): Promise<void> {
  await writeRows(file, values.split, count, async ({ id, reset, messages }) => {
    const { answer } = (await (await fetch(`http://${address}/answer?seed=${reset.seed}`)).json()) as { answer: string };
    return { id, messages, answer };
  });
}

interface Shown {
  readonly id: string;
  readonly reset: { readonly seed?: number };
  readonly messages: readonly Message[];
}

async function writeRows(file: string, split: string, count: number, rowOf: (task: Shown) => object): Promise<void> {
  const { name, settings } = shared.environment;
  const environment = createEnvironment(name, settings);
  await environment.open?.();
  const lines = [];
  for (let i = 0; i < count; i++) {
    const task = (await environment.task(split, i)) as Pick<Shown, "id" | "reset">;
    const { messages, close } = await environment.start(task, 0);
    await close?.();
    lines.push(`${JSON.stringify(await rowOf({ ...task, messages }))}\n`);
  }
  await environment.close?.();
  writeFileSync(file, lines.join(""));
}

/** @returns the exit code */
async function stage(config: UserConfig, folder: string, model: string): Promise<number> {
  const isBegun = existsSync(layout.run(folder));
  if (isBegun && readSummary(folder) !== undefined) return 0;
  return runTraining({ ...config, model, out: folder }, { out: folder }, { resume: isBegun, dashboard: false }, screen);
}
