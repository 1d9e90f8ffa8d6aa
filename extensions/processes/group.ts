import { type ChildProcess, type SpawnOptions, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import spawn from "cross-spawn";
import { ConfigError } from "../../src/core/errors.ts";
import { type WatchOver, watchOver } from "./survivor.ts";

/** A program that was started here, and every process that it started. */
export interface Group {
  readonly child: ChildProcess;
  /** Asks all of it to end by SIGTERM, and ends what is left after `patienceMs` by SIGKILL. */
  end(patienceMs?: number): Promise<void>;
  /** Ends all of it by SIGKILL. */
  kill(): void;
}

const patienceMs = 1000;
const lookMs = 20;

/** The operating system as groups need it. */
export interface Processes {
  readonly platform: NodeJS.Platform;
  spawn(command: string, args: readonly string[], options: SpawnOptions): ChildProcess;
  /** Returns the file that a command of Windows starts. */
  fileOf(command: string, args: readonly string[], options: SpawnOptions): string;
  /** Runs a command to its end. */
  run(command: string, args: readonly string[]): void;
  /** @throws Error where there is no such process or group */
  kill(pid: number, signal: NodeJS.Signals | 0): void;
  /** @throws Error where there is no such process, or its children are not listed */
  childrenOf(pid: number): readonly number[];
  readonly watchOver: WatchOver;
}

const here: Processes = {
  get platform() {
    return process.platform;
  },
  spawn,
  fileOf: (...given) => spawn._parse(...given).file ?? "",
  run: (command, args) => void spawnSync(command, args, { stdio: "ignore", windowsHide: true }),
  kill: (pid, signal) => void process.kill(pid, signal),
  // Only Linux lists them.
  childrenOf: (pid) =>
    readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    ),
  watchOver,
};

/** Groups that may have a living process. */
const open = new Set<Group>();
process.on("exit", killOpen);

/** Ends all groups by SIGKILL. */
export function killOpen(): void {
  for (const group of open) group.kill();
}

/**
 * Starts a program as the leader of a process group. What it leaves behind ends with it, and all of it with this process: by an exit, by a signal,
 * and on POSIX also by SIGKILL. On Windows, where a program may be a `.cmd` script, its tree is ended by `taskkill`.
 * A program that does not start gives `child` an "error", as Node's `spawn` does.
 * @throws ConfigError for an argument that a `.cmd` script cannot be given
 */
export function startGroup(command: string, args: readonly string[], options: SpawnOptions = {}, system = here): Group {
  const isWindows = system.platform === "win32";
  if (isWindows) requirePassable(system.fileOf(command, args, options), args);
  const child = system.spawn(command, args, { ...options, detached: !isWindows, windowsHide: true });
  const { pid } = child;
  if (pid === undefined) return { child, end: async () => {}, kill: () => {} };
  /** Processes in groups of their own, which are found while their parents live. */
  const orphans = new Set<number>();

  const signal = (name: NodeJS.Signals) => {
    if (isWindows) return system.run("taskkill", ["/pid", String(pid), "/T", "/F"]);
    for (const each of descendants(pid, system)) orphans.add(each);
    send(-pid, name);
    for (const each of orphans) send(each, name);
  };
  /** @returns whether there is such a process or group */
  const send = (to: number, name: NodeJS.Signals | 0) => {
    try {
      system.kill(to, name);
      return true;
    } catch {
      return false;
    }
  };
  const leave = () => {
    if (open.delete(group)) forget();
  };
  const group: Group = {
    child,
    end: async (patience = patienceMs) => {
      if (!open.has(group)) return;
      signal("SIGTERM");
      const until = performance.now() + patience;
      while (isAlive() && performance.now() < until) await sleep(lookMs);
      if (isAlive()) group.kill();
      leave();
    },
    kill: () => {
      if (open.has(group)) signal("SIGKILL");
    },
  };
  const isAlive = () => send(-pid, 0) || [...orphans].some((each) => send(each, 0));
  const forget = isWindows ? () => {} : system.watchOver(pid);
  open.add(group);
  child.once("exit", () => void group.end());
  return group;
}

/**
 * The command interpreter reads a script's arguments twice, and cross-spawn escapes them for both only in npm's own scripts: elsewhere a quotation
 * mark ends the quotes of the second time, and what follows could be another command. A line break ends the first.
 */
function requirePassable(file: string, args: readonly string[]): void {
  if (!/\.(cmd|bat)$/i.test(file)) return;
  const isNpms = /node_modules[\\/]\.bin[\\/][^\\/]+$/i.test(file);
  const strange = args.find((arg) => /[\r\n]/.test(arg) || (!isNpms && /"/.test(arg) && /[&|<>^()]/.test(arg)));
  if (strange !== undefined)
    throw new ConfigError(`an argument of ${file}`, strange, {
      expected: `no line break, and no quotation mark together with any of & | < > ^ ( ), which Windows cannot pass to a script`,
      hint: "Start the program that the script starts: node with its file, for instance.",
    });
}

/** Returns the processes below one, where they are listed. */
function descendants(pid: number, system: Processes): number[] {
  try {
    return system.childrenOf(pid).flatMap((child) => [child, ...descendants(child, system)]);
  } catch {
    return [];
  }
}
