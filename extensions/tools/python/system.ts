import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A program and its arguments. */
export type Command = readonly [string, ...string[]];

/** The operating system as walls need it: its programs, and what it says of processes. */
export interface System {
  readonly platform: NodeJS.Platform;
  /** The folder of the user. */
  readonly home: string;
  /** Returns the path of a program of the system; its name where there is none. */
  which(program: string): string;
  /** Runs a command to its end. The status is null where it did not start. */
  run(command: Command): { readonly status: number | null; readonly stdout: string; readonly stderr: string };
  /** Runs a command meanwhile. @returns its output @throws Error where it fails */
  start(command: Command): Promise<string>;
  /** @throws Error where there is no such file */
  read(file: string): string;
}

/** The system that this program runs on. */
export const here: System = {
  platform: process.platform,
  home: homedir(),
  which: (program) => {
    const folders = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"];
    return folders.map((folder) => join(folder, program)).find(existsSync) ?? program;
  },
  run: ([command, ...args]) => {
    const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    return { status, stdout: stdout ?? "", stderr: error?.message ?? stderr };
  },
  start: async ([command, ...args]) => (await promisify(execFile)(command, args)).stdout,
  read: (file) => readFileSync(file, "utf8"),
};
