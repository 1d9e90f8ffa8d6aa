/**
 * Load time and peak memory of GGUF files by type: `npx jiti research/bench/gguf.ts FOLDER`, with the files that research/bench/gguf_types.py writes. One process
 * each. A step trains an adapter of rank 16 on 64 tokens, and 8 are sampled before and after.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalEngine } from "../../extensions/local/engine.ts";
import { ggufFolder } from "../../extensions/local/model/gguf/folder.ts";
import { loadModel } from "../../extensions/local/model/model-folder.ts";

const bases = ["float32", "int8", "int4"] as const;
const [folder, way] = process.argv.slice(2);
if (way === undefined) table();
else await measure(folder, way as Parameters<typeof measure>[1]);

/** @param file a GGUF file */
async function measure(file: string, way: "read" | (typeof bases)[number]): Promise<void> {
  const cache = mkdtempSync(join(tmpdir(), "gguf-bench-"));
  const model = await ggufFolder(file, cache);
  const before = process.cpuUsage();
  if (way === "read") await loadModel(model);
  else {
    const lora = { rank: 16, alpha: 16, targets: "all-linear", seed: 1, base: way } as const;
    const engine = await createLocalEngine({ model, threads: 1, slots: 1, lora, sampling: { weightsAsInputs: true } });
    const ids = Array.from({ length: 64 }, (_, i) => 100 + i);
    const draw = () => engine.sample({ context: ids, maxTokens: 8, stopTokens: [], seed: 1 });
    await draw();
    const sample = { trajectory: "a", turn: 0, context: ids.slice(0, 48), action: ids.slice(48) };
    await engine.forwardBackward([sample], [sample.action.map(() => 1)], { temperature: 1 });
    await engine.step({ learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 });
    await draw();
    await engine.dispose();
  }
  const { user, system } = process.cpuUsage(before);
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1000;
  rmSync(cache, { recursive: true });
  console.log(JSON.stringify({ seconds: (user + system) / 1e6, peak }));
}

function table(): void {
  const run = (name: string, way: string) => {
    const command = [
      join(import.meta.dirname, "../../node_modules/.bin/jiti"),
      "research/bench/gguf.ts",
      join(folder, name),
      way,
    ];
    return JSON.parse(execFileSync(process.execPath, command, { encoding: "utf8" })) as { seconds: number; peak: number };
  };
  console.log("| type | file | read: processor time | peak when read |\n|---|---|---|---|");
  const size = (name: string) => statSync(join(folder, name)).size;
  const files = readdirSync(folder).filter((name) => name.endsWith(".gguf"));
  for (const name of files.toSorted((a, b) => size(b) - size(a))) {
    const { seconds, peak } = run(name, "read");
    console.log(
      `| ${name.replace(".gguf", "")} | ${(size(name) / 1e6).toFixed(0)} MB | ${seconds.toFixed(1)} s | ${peak.toFixed(0)} MB |`,
    );
  }
  // What is held behind the reading is the same for all types.
  for (const way of bases) console.log(`Q4_0, an adapter on ${way}: peak ${run("Q4_0.gguf", way).peak.toFixed(0)} MB`);
}
