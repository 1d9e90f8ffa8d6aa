/** Three steps of the default run with its evaluations, by the built command: default-run.ts THREADS WORKERS. Seconds from its start to its end. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { answerRounds } from "./rounds.ts";

const [threads, workers] = process.argv.slice(2);
const command = fileURLToPath(new URL("../../../dist/entries/main.js", import.meta.url));
await answerRounds("retrograde", async () => {
  const out = await mkdtemp(join(tmpdir(), "retrograde-bench-run-"));
  const settings = ["--steps", "3", "--threads", threads, "--no-dashboard"];
  settings.push("--set", `engine.workers=${workers}`, "--set", "evaluation.tasks=16");
  const start = performance.now();
  await promisify(execFile)(process.execPath, [command, "train", ...settings, "--out", join(out, "run")]);
  const seconds = (performance.now() - start) / 1000;
  await rm(out, { recursive: true });
  return { seconds };
});
