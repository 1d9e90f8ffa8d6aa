/**
 * SmolLM2-135M-Instruct learns needle_haystack or word_sequence_reversal of the Python package reasoning-gym: docs/published-tasks.md.
 *
 *     pip install reasoning-gym==0.1.25
 *     npx jiti research/recipes/reasoning-gym.ts --family needle_haystack --seed 11 --out runs/needle_haystack-11
 *
 * The form of an answer, by demonstrations that guess, then GRPO. The package makes its tasks once, in OUT/tasks.jsonl; with this file there the run
 * needs no Python. Called again, it continues where it was stopped.
 */
import "../install.ts";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { loadTokenizer } from "../../entries/engine.ts";
import { EnvError } from "../../src/core/errors.ts";
import { modelFolder } from "../../src/sdk/model.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { gymConfigs, gymTasks, writeForm } from "./gym-tasks.ts";
import { runStages } from "./stages.ts";

const { values } = parseArgs({
  options: {
    family: { type: "string", default: "needle_haystack" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    device: { type: "string", default: "cpu" },
    threads: { type: "string", default: "1" },
    python: { type: "string", default: "python3" },
  },
});
const { family, device } = values;
const seed = Number(values.seed);
const out = values.out ?? `runs/${family}-${seed}`;
mkdirSync(out, { recursive: true });
const tasks = await gymTasks(out, seed, python);
const data = join(out, "form.jsonl");
if (!existsSync(data)) writeForm(tasks, data);
const tokenizer = loadTokenizer(await modelFolder(resolveConfig({ model: "smollm2" })));
const tokens = (text: string) => tokenizer.encode(text).length;
const { form, reinforcement } = gymConfigs({ family, tasks, seed, device, threads: Number(values.threads), data, tokens });
const stages = [
  { config: form, folder: join(out, "form"), model: "smollm2" },
  { config: reinforcement, folder: join(out, "grpo"), model: join(out, "form") },
];
process.exitCode = await runStages(stages, createScreen(process.stdout));

function python(seeds: string): string {
  const program = fileURLToPath(new URL("reasoning-gym.py", import.meta.url));
  const { stdout, status, error } = spawnSync(values.python, ["-W", "ignore", program, family], {
    input: seeds,
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
