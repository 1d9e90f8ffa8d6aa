/**
 * `node --expose-gc $(npm root)/jiti/lib/jiti-cli.mjs bench/tinker/client.ts [samples]`: processor time and memory of the Tinker client beside a server that
 * computes nothing: samples of 64 tokens from prompts of 500, 200 in flight.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { TinkerClient } from "../../extensions/tinker/client/index.ts";

const total = Number(process.argv[2] ?? 10_000);
const inFlight = 200;
const jiti = join(import.meta.dirname, "../../node_modules/jiti/lib/jiti-cli.mjs");
const child = spawn(process.execPath, [jiti, join(import.meta.dirname, "canned-server.ts")], {
  stdio: ["ignore", "pipe", "inherit"],
});
const [port] = (await once(child.stdout, "data")) as [Buffer];
const client = await TinkerClient.connect({ baseUrl: `http://127.0.0.1:${String(port).trim()}`, inFlight });
const sampler = client.baseSampler("tiny");
const prompt = Array.from({ length: 500 }, (_, i) => i % 1000);
const memory = () => {
  global.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return `rss ${(rss / 1e6).toFixed(0)} MB, heap ${(heapUsed / 1e6).toFixed(1)} MB, external ${(external / 1e6).toFixed(1)} MB`;
};
async function run(count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await sampler.sample({ prompt, maxTokens: 64, seed: left });
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}
await run(500);
client.takeStats();
console.log(`warm: ${memory()}`);
for (let part = 1; part <= 5; part++) {
  const [cpu, start] = [process.cpuUsage(), performance.now()];
  await run(total / 5);
  const { user, system } = process.cpuUsage(cpu);
  const { requests } = client.takeStats();
  const ms = (user + system) / 1000;
  console.log(
    `${(part * total) / 5} samples: ${(ms / requests).toFixed(2)} ms of processor time a request, ${((ms * 5) / total).toFixed(2)} a sample, ` +
      `${((performance.now() - start) / 1000).toFixed(1)} s; ${memory()}`,
  );
}
client.close();
child.kill();
