/**
 * Memory of a batch of long conversations, held and packed as the trainer does:
 * `npx jiti bench/contexts.ts tree`, or `flat`. One process each, since peaks cannot be reset. `flat` gives every turn its context as an
 * array of its own.
 */
import { Command } from "commander";
import { Context } from "../src/core/context.ts";
import { randomStream } from "../src/core/random.ts";
import type { Turn } from "../src/core/trajectory.ts";
import { batchRows, packBatch, packRows } from "../src/engines/local/training/packing.ts";
import { positiveInteger, processMemory } from "./options.ts";

interface Options {
  readonly trajectories: number;
  readonly group: number;
  readonly turns: number;
  readonly tokens: number;
  readonly action: number;
}

const program = new Command("npx jiti bench/contexts.ts")
  .argument("<how>", "tree or flat")
  .option("--trajectories <n>", "episodes of the batch", positiveInteger, 256)
  .option("--group <n>", "episodes with the same prompt", positiveInteger, 8)
  .option("--turns <n>", "turns of each", positiveInteger, 40)
  .option("--tokens <n>", "tokens of each, prompt, actions and answers together", positiveInteger, 15_000)
  .option("--action <n>", "tokens of an action", positiveInteger, 100)
  .parse();
const options = program.opts<Options>();
const how = program.args[0];
if (how !== "tree" && how !== "flat") program.error("Expected tree or flat.");

let started = performance.now();
mark("start");
const turns = Array.from({ length: options.trajectories }, (_, i) => trajectory(i)).flat();
const tokens = turns.reduce(
  (sum, turn) => sum + (turn.turn === options.turns - 1 ? turn.context.length + turn.action.length : 0),
  0,
);
const dense = turns.reduce((sum, { context, action }) => sum + context.length + action.length, 0);
mark(`${turns.length} turns held`);

started = performance.now();
const rows = packRows(turns, 16_384, 16_384);
mark(`${rows.length} rows`);
const batches = batchRows(rows, 1536).map(packBatch);
mark(`${batches.length} micro-batches`);

const computed = rows.reduce((sum, row) => sum + row.tokens.length, 0);
const peak = processMemory("VmHWM") / 2 ** 20;
console.log(
  `${how}: ${million(tokens)} tokens in ${options.trajectories} trajectories, ${million(dense)} with every context in full, ` +
    `${million(computed)} packed; peak ${peak.toFixed(0)} MB, ${((peak * 2 ** 20) / tokens).toFixed(0)} bytes a token`,
);

/** A prompt of a tenth of the tokens, then actions and answers. */
function trajectory(index: number): Turn[] {
  const group = Math.floor(index / options.group);
  const prompt = ids(Math.floor(options.tokens / 10), group, -1);
  const answer = Math.floor((options.tokens - prompt.length) / options.turns) - options.action;
  const made: Turn[] = [];
  let context = Context.of(prompt);
  for (let turn = 0; turn < options.turns; turn++) {
    const action = ids(options.action, index, turn);
    made.push({
      ...{ trajectory: `${index}`, turn, action, context: how === "flat" ? context.slice() : context },
      ...{ samplerLogprobs: action.map((id) => -id / 1e6), entropies: action.map((id) => id / 1e6) },
      ...{ weightVersion: 0, truncated: false, rewritten: false, invalidToolCalls: 0, toolCalls: 1 },
    });
    context = context.extend(action).extend(ids(answer, index, turn + 0.5));
  }
  return made;
}

function ids(length: number, ...of: readonly number[]): number[] {
  const random = randomStream(1, "contexts", ...of);
  return Array.from({ length }, () => random.integer(150_000));
}

function mark(title: string): void {
  const seconds = (performance.now() - started) / 1000;
  console.log(
    `${title.padEnd(24)} ${seconds.toFixed(1).padStart(6)} s   now ${(processMemory("VmRSS") / 2 ** 20).toFixed(0)} MB   peak ${(processMemory("VmHWM") / 2 ** 20).toFixed(0)} MB`,
  );
}

function million(count: number): string {
  return `${(count / 1e6).toFixed(1)} M`;
}
