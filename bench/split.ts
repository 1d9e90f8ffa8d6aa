/**
 * Whether two sessions of one thread each sample faster than one with two, the rows dealt out: `npx jiti bench/split.ts`. ONNX Runtime's binding runs on
 * the thread that calls it, so each session is in a worker of its own. The two ways take turns; a ratio is that of one round.
 */
import { once } from "node:events";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { Command } from "commander";
import { randomStream } from "../src/core/random.ts";
import { createLocalEngine } from "../src/engines/local/engine.ts";
import { median } from "./statistics.ts";

interface Work {
  readonly rows: number;
  readonly first: number;
  readonly tokens: number;
}

if (parentPort === null) await main();
else await serve(workerData as { model: string; threads: number });

async function serve({ model, threads }: { model: string; threads: number }): Promise<void> {
  const engine = await createLocalEngine({ model, threads });
  const context = Array.from({ length: 64 }, (_, i) => randomStream(1, "context", i).integer(engine.info.vocabularySize));
  parentPort?.on("message", async ({ rows, first, tokens }: Work) => {
    const request = (seed: number) => ({ context, maxTokens: tokens, stopTokens: [], seed, temperature: 5 });
    await Promise.all(Array.from({ length: rows }, (_, row) => engine.sample(request(first + row))));
    parentPort?.postMessage("done");
  });
  parentPort?.postMessage("ready");
}

async function main(): Promise<void> {
  const options = new Command("npx jiti bench/split.ts")
    .option("--model <folder>", "model", "models/office")
    .option("--rounds <n>", "of each way", Number, 5)
    .option("--tokens <n>", "to sample for each row", Number, 32)
    .parse()
    .opts<{ model: string; rounds: number; tokens: number }>();
  const open = async (threads: number) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { model: options.model, threads },
      execArgv: ["--import", "jiti/register"],
    });
    await answer(worker);
    return worker;
  };
  const whole = [await open(2)];
  const halves = [await open(1), await open(1)];
  const seconds = async (workers: readonly Worker[], rows: number) => {
    const start = performance.now();
    const each = rows / workers.length;
    await Promise.all(
      workers.map((worker, i) => {
        worker.postMessage({ rows: each, first: i * each, tokens: options.tokens } satisfies Work);
        return answer(worker);
      }),
    );
    return (performance.now() - start) / 1000;
  };
  for (const rows of [32, 128]) {
    const ratios: number[] = [];
    for (let round = 0; round <= options.rounds; round++) {
      const [together, apart] = [await seconds(whole, rows), await seconds(halves, rows)];
      if (round > 0) ratios.push(together / apart); // the first round opens the sessions
      console.log(`${rows} rows: one session with two threads ${together.toFixed(2)} s, two with one ${apart.toFixed(2)} s`);
    }
    console.log(
      `${rows} rows: two sessions are ${median(ratios).toFixed(2)} × as fast (${ratios.map((ratio) => ratio.toFixed(2)).join(", ")})`,
    );
  }
  for (const worker of [...whole, ...halves]) await worker.terminate();
}

function answer(worker: Worker): Promise<unknown> {
  return once(worker, "message"); // which rejects where the worker has an error
}
