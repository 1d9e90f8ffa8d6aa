import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { StartBeside } from "../../src/cli/beside.ts";

/** Set for the dashboard that a training run has started: it takes any free port where its own is taken, and ends with its parent. */
export const besideTraining = "RETROGRADE_DASHBOARD_BESIDE_TRAINING";

/** Starts the dashboard beside a training run, in a process of its own: nothing that it does takes time from the training. */
export const startDashboardBeside: StartBeside = (folder, onAddress) => {
  const program = fileURLToPath(new URL("../../entries/main.js", import.meta.url));
  // A program that runs from its sources has no other to start.
  if (!existsSync(program)) return () => {};
  const run = resolve(folder);
  const child: ChildProcess = spawn(process.execPath, [program, "dashboard", dirname(run)], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { ...process.env, [besideTraining]: "1", NO_COLOR: "1" },
  });
  child.on("error", () => {});
  if (child.stdout !== null)
    createInterface({ input: child.stdout }).on("line", (line) => {
      const address = /^Dashboard: (\S+)$/.exec(line)?.[1];
      if (address !== undefined) onAddress(`${address}#/run/${encodeURIComponent(basename(run))}`);
    });
  child.unref();
  for (const stream of [child.stdin, child.stdout])
    if (stream !== null && "unref" in stream && typeof stream.unref === "function") stream.unref();
  return () => {
    child.kill();
  };
};
