/**
 * Echo, self-distillation and GRPO teach SmolLM2-135M-Instruct to cross TextArena's FrozenLake, at equal time: research/notes/frozen-lake.md.
 *
 *     pip install openenv==0.10.0 textarena==0.7.4
 *     npx jiti research/recipes/frozen-lake.ts --out runs/frozen-lake --seeds 11,12,13 --jobs 2
 *
 * First the form of a move, by walks right and down that do not look at the ice: every run begins with this model. Then each arm by each seed,
 * and a table. Called again, it continues where it was stopped.
 */
import "../../extensions/install.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runTraining } from "../../src/cli/commands/train.ts";
import type { Message } from "../../src/core/messages.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import type { Environment, Task } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { layout } from "../../src/runs/layout.ts";
import { readSummary } from "../../src/runs/read.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";

const { values } = parseArgs({
  options: {
    out: { type: "string", default: "runs/frozen-lake" },
    seeds: { type: "string", default: "11,12,13" },
    arms: { type: "string", default: "grpo,echo,self-distillation" },
    /** Runs at a time, each of one thread. */
    jobs: { type: "string", default: "1" },
    /** Multiplies the steps and the evaluated maps of the plan: 0.1 is a try. */
    scale: { type: "string", default: "1" },
    port: { type: "string", default: "9481" },
    python: { type: "string", default: "python3" },
    /** A single run, in this process, on a server that is up. */
    run: { type: "string" },
  },
});
const scale = Number(values.scale);
const scaled = (count: number) => Math.max(1, Math.round(count * scale));
const address = `127.0.0.1:${values.port}`;

/** Each arm's algorithm, and its steps: as many as take equal time by the tokens of a step, as the plan counts them. */
const arms: Readonly<Record<string, Pick<UserConfig, "algorithm" | "steps">>> = {
  grpo: { algorithm: { kind: "grpo" }, steps: scaled(14) },
  echo: {
    algorithm: { kind: "custom", advantage: { kind: "group-relative" }, update: { kind: "ppu" }, term: { kind: "echo" } },
    steps: scaled(12),
  },
  "self-distillation": {
    algorithm: { kind: "custom", advantage: { kind: "self-distillation" }, update: { kind: "reinforce" } },
    steps: scaled(11),
  },
};

const moves = { right: [0, 1], down: [1, 0], left: [0, -1], up: [-1, 0] } as const;

const lake = frozenLake(createEnvironment(`openenv:ws://${address}`, { actions: "text" }));
const shared = {
  environment: lake,
  engine: {
    ...{ kind: "local", threads: 1, maxLength: 1408, memory: 5.6 },
    lora: { rank: 16, alpha: 32, targets: "all-linear" },
  },
  rollout: { tasksPerStep: 2, groupSize: 8, maxTurns: 5, maxTokens: 6, concurrency: 32 },
  evaluation: { split: "test", tasks: scaled(64), k: 1, greedy: false },
} as const satisfies UserConfig;
const form = join(values.out, "form");

if (values.run === undefined) await all();
else process.exitCode = await train(values.run);

async function all(): Promise<void> {
  mkdirSync(values.out, { recursive: true });
  const script = fileURLToPath(new URL("textarena-server.py", import.meta.url));
  const settings = JSON.stringify({ size: 3, num_holes: 2 });
  const server = spawn(values.python, ["-W", "ignore", script, "FrozenLake-v0-raw", values.port, settings], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  try {
    await started(once(server, "exit"));
    const data = join(values.out, "form.jsonl");
    if (!existsSync(data)) await writeForm(data, 64);
    await runs(["form"]);
    const seeds = values.seeds.split(",");
    await runs(seeds.flatMap((seed) => values.arms.split(",").map((arm) => `${arm}-${seed}`)));
  } finally {
    server.kill();
  }
  report();
}

/** Waits until the server answers. @throws Error if it ended, such as for a port that is taken */
async function started(exit: Promise<unknown[]>): Promise<void> {
  const ended = exit.then(([code]) => {
    throw new Error(`the server ended with ${code}: are openenv and textarena installed for ${values.python}?`);
  });
  ended.catch(() => {}); // at the end it is killed
  const isUp = () =>
    fetch(`http://${address}/schema`).then(
      ({ ok }) => ok,
      () => false,
    ); // prettier-ignore
  const up = async () => {
    while (!(await isUp())) await sleep(300);
  };
  await Promise.race([ended, up()]);
}

/** Runs of these names, `--jobs` at a time, each in a process of its own. @throws Error for the first that failed */
async function runs(names: readonly string[]): Promise<void> {
  const left = names.filter((name) => !isDone(name));
  const worker = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const own = ["--run", name, "--out", values.out, "--scale", values.scale, "--port", values.port];
      const child = spawn(process.execPath, ["--import", "jiti/register", fileURLToPath(import.meta.url), ...own], {
        stdio: "inherit",
      });
      const [code] = await once(child, "exit");
      if (code !== 0) throw new Error(`the run ${name} ended with ${code}`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, worker));
}

function isDone(name: string): boolean {
  const folder = join(values.out, name);
  return existsSync(layout.run(folder)) && readSummary(folder) !== undefined;
}

/** @returns the exit code */
async function train(name: string): Promise<number> {
  const folder = join(values.out, name);
  const cut = name.lastIndexOf("-");
  const config: UserConfig =
    name === "form"
      ? {
          ...{ ...shared, model: "smollm2", seed: 1, steps: scaled(8), optimizer: { learningRate: 5e-4 } },
          algorithm: { kind: "sft", data: join(values.out, "form.jsonl") },
        }
      : {
          ...{ ...shared, model: form, seed: Number(name.slice(cut + 1)), optimizer: { learningRate: 2e-4 } },
          ...arms[name.slice(0, cut)],
        };
  const screen = createScreen(process.stdout);
  const resume = existsSync(layout.run(folder));
  const code = await runTraining({ ...config, out: folder }, { out: folder }, { resume, dashboard: false }, screen);
  const { user, system } = process.cpuUsage();
  appendFileSync(secondsFile(name), `${(user + system) / 1e6}\n`);
  return code;
}

/** Processor seconds of each process that worked on a run, evaluation included. */
function secondsFile(name: string): string {
  return join(values.out, `${name}.seconds`);
}

/** The lake, with a shortest way over the ice as demonstration. */
function frozenLake<T extends Task>(game: Environment<T>): Environment<T> {
  return {
    name: "frozen-lake",
    size: (split) => game.size(split),
    task: (split, index) => game.task(split, index),
    start: (task, seed) => game.start(task, seed),
    demonstrate: (task) => walk(game, task, wayOver),
    open: () => game.open?.(),
    close: () => game.close?.(),
  };
}

/** Plays moves until the game ends. @param movesOf the first board */
async function walk<T extends Task>(game: Environment<T>, task: T, movesOf: (board: readonly string[]) => readonly string[]) {
  const episode = await game.start(task, 0);
  const messages: Message[] = [...episode.messages];
  const board = [...(messages[0]?.content ?? "").matchAll(/^\|(.+)\|$/gm)].map(([, row = ""]) => row);
  for (const move of movesOf(board)) {
    const action = { role: "assistant", content: `[${move}]` } as const;
    const reply = await episode.reply(action);
    messages.push(action, ...(reply.messages ?? []));
    if (reply.done === true) break;
  }
  await episode.close?.();
  return messages;
}

/** A shortest way from P to G past the holes, breadth first. */
function wayOver(board: readonly string[]): string[] {
  const cells = board.map((row) => row.split("|").map((cell) => cell.trim()));
  const seen = new Set(["0,0"]);
  const open: { at: readonly [number, number]; way: string[] }[] = [{ at: [0, 0], way: [] }];
  for (let here = open.shift(); here !== undefined; here = open.shift()) {
    const { at, way } = here;
    if (cells[at[0]]?.[at[1]] === "G") return way;
    for (const [move, [down, right]] of Object.entries(moves)) {
      const next = [at[0] + down, at[1] + right] as const;
      const cell = cells[next[0]]?.[next[1]];
      if (cell === undefined || cell === "H" || seen.has(String(next))) continue;
      seen.add(String(next));
      open.push({ at: next, way: [...way, move] });
    }
  }
  throw new Error(`no way over ${board.join(" / ")}`);
}

/** Writes walks right and down that are drawn before the ice is seen: they teach the form and not where the holes are. */
async function writeForm(file: string, count: number): Promise<void> {
  const lines = [];
  for (let i = 0; i < count; i++) {
    const random: Random = randomStream(0, "form", i);
    const drawn = random.shuffle(["right", "right", "down", "down"]);
    lines.push(`${JSON.stringify({ messages: await walk(lake, await lake.task("train", 10_000 + i), () => drawn) })}\n`);
  }
  writeFileSync(file, lines.join(""));
}

/** Prints a row for each run, in percent: success and reward on the test maps before and after, and processor seconds. */
function report(): void {
  const percent = (share = Number.NaN) => (100 * share).toFixed(1);
  console.log("| arm | seed | success | reward | processor seconds |\n|---|---|---|---|---|");
  for (const arm of values.arms.split(","))
    for (const seed of values.seeds.split(",")) {
      const name = `${arm}-${seed}`;
      const { before, after } = readSummary(join(values.out, name)) ?? {};
      const [success, reward] = [
        [before?.sampled, after?.sampled],
        [before?.reward?.sampled, after?.reward?.sampled],
      ].map((pair) => pair.map((score) => percent(score?.mean)).join(" → "));
      const seconds = readFileSync(secondsFile(name), "utf8")
        .trim()
        .split("\n")
        .reduce((sum, line) => sum + Number(line), 0);
      console.log(`| ${arm} | ${seed} | ${success} | ${reward} | ${seconds.toFixed(0)} |`);
    }
}
