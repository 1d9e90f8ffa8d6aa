/**
 * Models learn TextArena's FrozenLake and Sokoban: research/notes/frozen-lake.md, search-and-compute.md and sokoban.md there.
 *
 *     pip install openenv==0.10.0 textarena==0.7.4
 *     npx jiti research/recipes/grid-games.ts --game frozen-lake-3 --out runs/frozen-lake --seeds 11,12,13
 *
 * First the start: a model taught by written walks, with which every run begins. Then each arm by each seed, and a table. Called again, it
 * continues where it was stopped.
 */
import "../../extensions/install.ts";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { saveModel } from "../../extensions/local/model/model-folder.ts";
import { ownTurns } from "../../src/algorithms/advantages/tree.ts";
import { runTraining } from "../../src/cli/commands/train.ts";
import type { Message } from "../../src/core/messages.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import type { Environment, Task } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { layout } from "../../src/runs/layout.ts";
import { readSummary, readTrajectories, trajectorySteps } from "../../src/runs/read.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { lakeOf, shortestWay } from "./frozen-lake.ts";
import { newModel } from "./new-model.ts";
import type { TokenizerOptions } from "./tokenizer.ts";

const { values } = parseArgs({
  options: {
    /** A key of `games`. */
    game: { type: "string", default: "frozen-lake-3" },
    out: { type: "string", default: "runs/grid-games" },
    seeds: { type: "string", default: "11,12,13" },
    /** All of the game's if left out; empty: the start alone. */
    arms: { type: "string" },
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

type Arm = Pick<UserConfig, "algorithm" | "steps">;
interface Game {
  /** The package's name of it, and what its constructor takes. */
  readonly variant: string;
  readonly settings: object;
  readonly rollout: { readonly maxTurns: number; readonly tasksPerStep: number; readonly groupSize: number };
  readonly maxLength: number;
  readonly engine: object;
  readonly evaluation: { readonly tasks: number; readonly greedy: boolean };
  /** Of the arms. */
  readonly learningRate: number;
  /** What is taught: SmolLM2-135M-Instruct, or a model of 2 million parameters from nothing, whose tokens are these. */
  readonly model: "smollm2" | TokenizerOptions;
  /** A number of walks, and the SFT on them, that make the start of all arms. */
  readonly walks: number;
  readonly start: { readonly steps: number; readonly learningRate: number; readonly tokensPerStep: number };
  /** The moves of a walk; those of grid-walks.py if left out. */
  readonly startWalk?: (random: Random) => readonly string[];
  readonly arms: Readonly<Record<string, Arm>>;
}

const echo = {
  kind: "custom",
  advantage: { kind: "group-relative" },
  update: { kind: "ppu" },
  term: { kind: "echo" },
} as const;
const selfDistillation = { kind: "custom", advantage: { kind: "self-distillation" }, update: { kind: "reinforce" } } as const;

/** What both games write in one token: a move, a line, line ends. */
const commonPieces = ["\\[[a-z]+\\]", " *['A-Z][^\\n]*\\n*", "\\n+", "[^\\n]"];

const fromNothing = {
  maxLength: 768,
  engine: {},
  evaluation: { tasks: 256, greedy: true },
  learningRate: 2e-4,
  walks: 20_000,
  start: { steps: 500, learningRate: 1.5e-3, tokensPerStep: 4000 },
  rollout: { maxTurns: 12, tasksPerStep: 8, groupSize: 16 },
  arms: {},
} as const;

const lake: Game = {
  ...fromNothing,
  // A cell with the bar before it; a line between rows.
  model: { pieces: ["\\| {2}[PHG ] {2}", "\\|?\\n*\\+[-+]+\\+\\n*", ...commonPieces], vocabularySize: 620 },
  variant: "FrozenLake-v0-raw",
  settings: { size: 5, num_holes: 5 },
};

const games: Readonly<Record<string, Game>> = {
  "frozen-lake-3": {
    model: "smollm2",
    variant: "FrozenLake-v0-raw",
    settings: { size: 3, num_holes: 2 },
    rollout: { maxTurns: 5, tasksPerStep: 2, groupSize: 8 },
    maxLength: 1408,
    engine: { memory: 5.6, lora: { rank: 16, alpha: 32, targets: "all-linear" } },
    evaluation: { tasks: 64, greedy: false },
    learningRate: 2e-4,
    walks: 64,
    start: { steps: 8, learningRate: 5e-4, tokensPerStep: 2000 },
    // Drawn before the ice is seen: they teach the form and not where the holes are.
    startWalk: (random) => random.shuffle(["right", "right", "down", "down"]),
    // As many steps as take equal time by the tokens of a step, as the plan counts them.
    arms: {
      grpo: { algorithm: { kind: "grpo" }, steps: scaled(14) },
      echo: { algorithm: echo, steps: scaled(12) },
      "self-distillation": { algorithm: selfDistillation, steps: scaled(11) },
    },
  },
  "frozen-lake-5": lake,
  // Taught so little that rewards have something left to teach. The steps are those of about 32,000 sampled moves.
  "frozen-lake-5-early": {
    ...lake,
    start: { ...lake.start, steps: 250 },
    arms: {
      grpo: { algorithm: { kind: "grpo", miniBatches: 4 }, steps: scaled(40) },
      dapo: { algorithm: { kind: "dapo", miniBatches: 4 }, steps: scaled(21) },
      arpo: { algorithm: { kind: "arpo", miniBatches: 4 }, steps: scaled(46) },
    },
  },
  sokoban: {
    ...fromNothing,
    // A cell with the space or the line's end behind it.
    model: { pieces: ["[#_OX√PS][ \\n]", " *-[^\\n]*\\n*", ...commonPieces], vocabularySize: 620 },
    variant: "Sokoban-v0-raw",
    settings: { dim_room: [6, 6], num_boxes: 1, max_turns: 12 },
  },
};
const found = games[values.game];
if (found === undefined) throw new Error(`--game is ${values.game}; expected one of ${Object.keys(games).join(", ")}`);
const game = found;

const environment = solvable(createEnvironment(`openenv:ws://${address}`, { actions: "text", replayable: true }));
const shared = {
  environment,
  engine: { ...{ kind: "local", threads: 1, maxLength: game.maxLength }, ...game.engine },
  rollout: { ...game.rollout, maxTokens: 6, concurrency: 32 },
  evaluation: { split: "test", k: 1, ...game.evaluation, tasks: scaled(game.evaluation.tasks) },
} as const satisfies UserConfig;
const start = join(values.out, "start");
const armNames = values.arms?.split(",").filter((name) => name !== "") ?? Object.keys(game.arms);
const unknown = armNames.find((name) => game.arms[name] === undefined);
if (unknown !== undefined)
  throw new Error(`--arms has ${unknown}; expected some of ${Object.keys(game.arms).join(", ") || "none"}`);

if (values.run === undefined) await all();
else process.exitCode = await train(values.run);

async function all(): Promise<void> {
  mkdirSync(values.out, { recursive: true });
  const script = fileURLToPath(new URL("textarena-server.py", import.meta.url));
  const command = ["-W", "ignore", script, game.variant, values.port, JSON.stringify(game.settings)];
  const server = spawn(values.python, command, { stdio: ["ignore", "inherit", "inherit"] });
  try {
    await started(once(server, "exit"));
    if (!existsSync(`${start}.jsonl`)) await writeStart();
    if (game.model !== "smollm2" && !existsSync(`${start}.model`)) await makeModel(game.model);
    await runs(["start"]);
    await runs(values.seeds.split(",").flatMap((seed) => armNames.map((arm) => `${arm}-${seed}`)));
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
      const same = (["game", "out", "scale", "port"] as const).flatMap((option) => [`--${option}`, values[option]]);
      const own = ["--run", name, ...same];
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
    name === "start"
      ? {
          ...{
            ...shared,
            model: game.model === "smollm2" ? game.model : `${start}.model`,
            seed: 1,
            steps: scaled(game.start.steps),
          },
          optimizer: { learningRate: game.start.learningRate },
          algorithm: { kind: "sft", data: `${start}.jsonl`, tokensPerStep: game.start.tokensPerStep },
        }
      : {
          ...{ ...shared, model: start, seed: Number(name.slice(cut + 1)), optimizer: { learningRate: game.learningRate } },
          ...game.arms[name.slice(0, cut)],
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

/** The game, with a shortest way as demonstration. */
function solvable<T extends Task>(played: Environment<T>): Environment<T> {
  return {
    name: values.game,
    replayable: true,
    size: (split) => played.size(split),
    task: (split, index) => played.task(split, index),
    start: (task, seed) => played.start(task, seed),
    demonstrate: (task) => walk(played, task, (board) => shortestWay(lakeOf(board))),
    open: () => played.open?.(),
    close: () => played.close?.(),
  };
}

/** Plays moves until the game ends. @param movesOf the first message */
async function walk<T extends Task>(played: Environment<T>, task: T, movesOf: (board: string) => readonly string[]) {
  const episode = await played.start(task, 0);
  const messages: Message[] = [...episode.messages];
  for (const move of movesOf(messages[0]?.content ?? "")) {
    const action = { role: "assistant", content: `[${move}]` } as const;
    const reply = await episode.reply(action);
    messages.push(action, ...(reply.messages ?? []));
    if (reply.done === true) break;
  }
  await episode.close?.();
  return messages;
}

/** Writes the walks that the start is taught by, on tasks that no run trains on. */
async function writeStart(): Promise<void> {
  const { startWalk } = game;
  if (startWalk === undefined) {
    const script = fileURLToPath(new URL("grid-walks.py", import.meta.url));
    const tested = Array.from({ length: game.evaluation.tasks }, async (_, index) => {
      const episode = await environment.start(await environment.task("test", index), 0);
      await episode.close?.();
      return episode.messages[0]?.content;
    });
    const without = `${start}.tested.json`;
    writeFileSync(without, JSON.stringify(await Promise.all(tested)));
    const walks = [game.variant, JSON.stringify(game.settings), String(scaled(game.walks)), without, `${start}.jsonl`];
    execFileSync(values.python, ["-W", "ignore", script, ...walks], { stdio: "inherit" });
    return;
  }
  const lines = [];
  for (let i = 0; i < game.walks; i++) {
    const random = randomStream(0, "form", i);
    const task = await environment.task("train", 10_000 + i);
    const messages = await walk(environment, task, () => startWalk(random));
    lines.push(`${JSON.stringify({ messages })}\n`);
  }
  writeFileSync(`${start}.jsonl`, lines.join(""));
}

/** Writes a model with random weights, whose tokens are the cells and lines of the walks. */
async function makeModel(tokens: TokenizerOptions): Promise<void> {
  const lines = readFileSync(`${start}.jsonl`, "utf8").trim().split("\n").slice(0, 300);
  const walks = lines.map((line) => (JSON.parse(line) as { messages: Message[] }).messages);
  await saveModel(`${start}.model`, newModel(walks, tokens, 1).start, { dtype: "float32" });
}

/** Prints a row for each run, in percent: success and reward on the test maps before and after, and processor seconds. */
function report(): void {
  const percent = (share = Number.NaN) => (100 * share).toFixed(1);
  console.log("| arm | seed | greedy | sampled | reward, sampled | moves | processor seconds |\n|---|---|---|---|---|---|---|");
  for (const arm of armNames)
    for (const seed of values.seeds.split(",")) {
      const name = `${arm}-${seed}`;
      const folder = join(values.out, name);
      const { before, after } = readSummary(folder) ?? {};
      const scores = [
        [before?.greedy, after?.greedy],
        [before?.sampled, after?.sampled],
        [before?.reward?.sampled, after?.reward?.sampled],
      ].map((pair) => pair.map((score) => percent(score?.mean)).join(" → "));
      const episodes = trajectorySteps(folder).flatMap((step) => readTrajectories(folder, step));
      const moves = episodes.reduce((sum, episode) => sum + ownTurns(episode).length, 0);
      const seconds = readFileSync(secondsFile(name), "utf8")
        .trim()
        .split("\n")
        .reduce((sum, line) => sum + Number(line), 0);
      console.log(`| ${arm} | ${seed} | ${scores.join(" | ")} | ${moves} | ${seconds.toFixed(0)} |`);
    }
}
