import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import { basename, dirname, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { StartBeside } from "../../src/cli/beside.ts";

/** Set for the dashboard that a training run has started: it takes any free port where its own is taken, and ends with its parent. */
export const besideTraining = "RETROGRADE_DASHBOARD_BESIDE_TRAINING";

/**
 * Makes what starts the dashboard beside a training run, in a process of its own: nothing that it does takes time from the training.
 * @param program which is run by this process's own Node
 */
export function besideStarter(program: string, start = spawn): StartBeside {
  return (folder, onAddress) => {
    // A program that runs from its sources has no other to start.
    if (!existsSync(program)) return () => {};
    const run = resolve(folder);
    const child = start(process.execPath, [program, "dashboard", dirname(run)], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { ...process.env, [besideTraining]: "1", NO_COLOR: "1" },
    });
    child.on("error", () => {});
    createInterface({ input: child.stdout }).on("line", (line) => {
      const address = /^Dashboard: (\S+)$/.exec(line)?.[1];
      if (address !== undefined) onAddress(`${address}#/run/${encodeURIComponent(basename(run))}`);
    });
    child.unref();
    for (const stream of [child.stdin, child.stdout]) (stream as Partial<Socket>).unref?.();
    return () => {
      child.kill();
    };
  };
}

export const startDashboardBeside = besideStarter(fileURLToPath(new URL("../../entries/main.js", import.meta.url)));
