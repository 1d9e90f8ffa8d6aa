import { createLocalEngine } from "../src/engines/local/engine.ts";

/**
 * One pass of training over rows that share nothing, by one thread, by two threads in each session, and by two workers, in turns:
 * `jiti bench/workers.ts [MODEL [ROWS [TOKENS [ROUNDS]]]]`. Prints seconds and processor seconds, the best and the median.
 */
const [model = "models/office", rows = "24", tokens = "250", rounds = "5"] = process.argv.slice(2);
const forms = { "1 thread": { threads: 1 }, "2 threads": { threads: 2 }, "2 workers": { threads: 2, workers: 2 } };

const samples = Array.from({ length: Number(rows) }, (_, row) => ({
  trajectory: `${row}`,
  turn: 0,
  context: Array.from({ length: Number(tokens) - 20 }, (_, i) => (row * 37 + i * 11) % 500),
  action: Array.from({ length: 20 }, (_, i) => (row + i) % 500),
}));
const weights = samples.map(({ action }) => action.map(() => 0.01));

const engines = await Promise.all(
  Object.entries(forms).map(async ([name, form]) => {
    const engine = await createLocalEngine({ model, ...form });
    await engine.forwardBackward(samples, weights, { temperature: 1 });
    return { name, engine, seconds: [] as number[], processor: [] as number[] };
  }),
);
for (let round = 0; round < Number(rounds); round++)
  for (const { engine, seconds, processor } of engines) {
    const [started, before] = [performance.now(), process.cpuUsage()];
    await engine.forwardBackward(samples, weights, { temperature: 1 });
    const { user, system } = process.cpuUsage(before);
    seconds.push((performance.now() - started) / 1000);
    processor.push((user + system) / 1e6);
  }
const text = (values: readonly number[]) => {
  const sorted = values.toSorted((a, b) => a - b);
  return `best ${sorted[0].toFixed(2)}, median ${sorted[sorted.length >> 1].toFixed(2)}`;
};
for (const { name, engine, seconds, processor } of engines) {
  console.log(`${name}: seconds ${text(seconds)}; of processor time ${text(processor)}`);
  await engine.dispose();
}
