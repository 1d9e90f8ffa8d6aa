import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Folders that are copied, since tests there import sources; all others are links. */
const copied = ["src", "extensions", "entries", "test", "research", "examples"];

/** Makes a copy of the project in which sources can be changed. */
export function makeSandbox(root: string, sandbox: string): void {
  rmSync(sandbox, { recursive: true, force: true });
  mkdirSync(sandbox, { recursive: true });
  for (const name of readdirSync(root)) {
    if (name === ".git") continue;
    if (copied.includes(name)) cpSync(join(root, name), join(sandbox, name), { recursive: true });
    else symlinkSync(join(root, name), join(sandbox, name));
  }
  // Published figures that tests read lie beside the project.
  const beside = join(dirname(root), "shared");
  const link = join(dirname(sandbox), "shared");
  if (existsSync(beside) && !existsSync(link)) symlinkSync(beside, link);
}

/** Returns the names of files below a folder, with the root's path taken away. */
export function filesBelow(root: string, folder: string, fits: (name: string) => boolean): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter(fits)
    .map((name) => relative(root, join(root, folder, name)))
    .sort();
}

export interface Outcome {
  readonly status: "passed" | "failed" | "timed out";
  readonly output: string;
}

/**
 * Runs vitest in the sandbox, in one worker. Each of its processes ends after so many seconds of processor time, which a busy machine does not
 * change, and all of them after six hours.
 */
export function runVitest(
  sandbox: string,
  args: readonly string[],
  cpuSeconds: number,
  env: Record<string, string> = {},
): Promise<Outcome> {
  const vitest = join(sandbox, "node_modules/vitest/vitest.mjs");
  return new Promise((resolve, reject) => {
    const command = ["-c", `ulimit -t ${Math.ceil(cpuSeconds)}; exec "$@"`, "bash", process.execPath, vitest, "run"];
    const child = spawn("bash", [...command, "--maxWorkers=1", ...args], {
      cwd: sandbox,
      env: { ...process.env, ...env, NO_COLOR: "1", UNIT_TEST_SECONDS: "600" },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let late = false;
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-20_000);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    const timer = setTimeout(() => {
      late = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, 21_600_000);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      const exhausted = late || code === null || /Worker (?:exited|forks emitted error)|timed out in/.test(output);
      resolve({ status: code === 0 ? "passed" : exhausted ? "timed out" : "failed", output });
    });
  });
}

/** Whether TypeScript finds an error in the sandbox. A name that is no longer used, or a line that is no longer reached, is none. */
export async function refusedByTypes(sandbox: string): Promise<boolean> {
  const tsc = join(sandbox, "node_modules/typescript/bin/tsc");
  const lenient = ["--noUnusedLocals", "false", "--noUnusedParameters", "false", "--allowUnreachableCode", "true"];
  const child = spawn(process.execPath, [tsc, "-p", "tsconfig.json", "--noEmit", ...lenient], { cwd: sandbox, stdio: "ignore" });
  const [code] = await once(child, "close");
  return code !== 0;
}
