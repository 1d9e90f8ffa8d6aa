import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { inKernelRules } from "./kernel-rules.ts";

/** A wall of the operating system around a Python process. It is the second one: the first is WebAssembly's. */
export interface Wall {
  readonly name: "namespaces" | "rules" | "limits" | "profile";
  readonly holds: boolean;
  /** The text that says what it does, or why it is missing. */
  readonly text: string;
}

let found: readonly Wall[] | undefined;

/** Returns the walls that this system could have. Each is tried once in a program. */
export function walls(): readonly Wall[] {
  found ??= findWalls();
  return found;
}

/** True if the operating system closes off a Python process, wholly or in part. */
export function isWalled(): boolean {
  return walls().some(({ holds }) => holds);
}

function findWalls(): readonly Wall[] {
  if (process.platform === "linux") {
    const apart = namespaces();
    return apart.holds ? [apart, limits()] : [apart, rules(), limits()];
  }
  if (process.platform === "darwin") return [profile()];
  return [{ name: "limits", holds: false, text: `${process.platform} has none that Node could set` }];
}

/** A program and its arguments. */
export type Command = readonly [string, ...string[]];

/** Returns a command that runs another one behind the walls that hold. `files` are what it reads beside its own libraries. */
export function enclosed(command: Command, files: readonly string[]): Command {
  const holding = new Set(walls().flatMap(({ name, holds }) => (holds ? [name] : [])));
  if (holding.has("namespaces")) return inNamespaces(command, files);
  if (holding.has("profile")) return inProfile(command, files);
  if (holding.has("rules")) return inRules(command, files);
  return holding.has("limits") ? [...endingWithUs(), ...command] : command;
}

/*
 * Linux's namespaces: a file system of nothing but the files that the interpreter is made of, read-only; no network interface; no other process to
 * see or to signal; no privileges, and no way to any. All of it ends with its first process, and that one with ours.
 */

function namespaces(): Wall {
  const { status, stderr } = run(inNamespaces([which("setpriv"), "--version"], []));
  return status === 0
    ? { name: "namespaces", holds: true, text: "files, network and processes of its own, no privileges" }
    : { name: "namespaces", holds: false, text: `not allowed here (${lastLine(stderr)})` };
}

function inNamespaces(command: Command, files: readonly string[]): Command {
  const setpriv = which("setpriv");
  const needed = [...new Set([setpriv, ...librariesOf(setpriv), ...filesOf(command, files)])];
  const folders = [...new Set(needed.map((file) => `.${dirname(file)}`))];
  // In a table of mounts a space would end a name.
  const written = (path: string) => path.replace(/[\\\s]/g, (each) => `\\${each.charCodeAt(0).toString(8).padStart(3, "0")}`);
  const table = needed.map((file) => `${written(file)} ${written(`/sys${file}`)} none bind,ro,nosuid,nodev`);
  const apart = "--user --map-root-user --mount --net --ipc --uts --pid --fork --kill-child --".split(" ");
  const enter = ["/bin/sh", "-c", enterRoot, "sh", folders.join("\n"), needed.join("\n"), table.join("\n")];
  const powerless = [setpriv, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"];
  return [...endingWithUs(), "unshare", ...apart, ...enter, ...powerless, ...command];
}

/** Makes a root of files on /sys, which nobody needs meanwhile, and runs the rest in it. */
const enterRoot = `
set -ef
IFS='
'
mount -t tmpfs -o size=1m,mode=755,nosuid,nodev none /sys
cd /sys
mkdir -p $1
for file in $2; do : > ".$file"; done
echo "$3" > table
mount -a -T table
rm table
mount -o remount,bind,ro /sys
shift 3
exec chroot /sys "$@"`;

/** The kernel ends a process with the one that started it. */
function endingWithUs(): Command {
  return [which("setpriv"), "--pdeathsig=KILL"];
}

const libraries = new Map<string, readonly string[]>();

/** Returns the libraries that the system's loader maps for a program. */
function librariesOf(program: string): readonly string[] {
  const all = libraries.get(program) ?? run([which("ldd"), program]).stdout.match(/\/\S+(?= \(0x)/g) ?? [];
  libraries.set(program, all);
  return all;
}

/** Returns all files that a command reads. */
function filesOf(command: Command, files: readonly string[]): readonly string[] {
  return [command[0], ...librariesOf(command[0]), ...files];
}

/*
 * Without namespaces: the kernel's rules, which the process sets on itself before it is the interpreter. What is not of the interpreter cannot be
 * read, started or changed by its path, and no other process be signalled, read or slowed.
 */

function rules(): Wall {
  const { status, stdout, stderr } = run(inRules([which("setpriv"), "--version"], []));
  const [version, filter] = stdout.split(/\s/);
  const parts = [...(Number(version) > 0 ? [`Landlock ${version}`] : []), ...(filter === "1" ? ["seccomp"] : [])];
  return status === 0 && parts.length > 0
    ? { name: "rules", holds: true, text: `${parts.join(" and ")}: no other file or process is acted on` }
    : { name: "rules", holds: false, text: `${lastLine(stderr)}; code that escapes could remove files and signal processes` };
}

/** Returns a command that runs another one under the kernel's rules. */
function inRules(command: Command, files: readonly string[]): Command {
  return [...endingWithUs(), "--no-new-privs", ...inKernelRules(which("perl"), command, filesOf(command, files))];
}

/*
 * Linux's limits, set from outside once the interpreter has started: it can open no descriptor any more (no file, no socket, no pipe), write no
 * byte to a file, start no process unless it is root's, and map no more memory than that.
 */

function limits(): Wall {
  return run([which("prlimit"), "--version"]).status === 0
    ? { name: "limits", holds: true, text: "no new descriptor, no byte to a file, bounded memory" }
    : { name: "limits", holds: false, text: "`prlimit` of util-linux is not installed" };
}

/** The bytes that Node and its libraries map before a cell runs. */
const startBytes = 384 * 2 ** 20;

/** Limits a process that has all that it needs. @throws Error if the kernel refuses */
export async function limit(pid: number, memoryBytes: number): Promise<void> {
  if (!walls().some(({ name, holds }) => name === "limits" && holds)) return;
  const most = { nofile: 0, fsize: 0, core: 0, nproc: 0, data: startBytes + 2 * memoryBytes };
  const flags = Object.entries(most).map(([name, value]) => `--${name}=${value}`);
  await promisify(execFile)(which("prlimit"), [`--pid=${pid}`, ...flags]);
}

/*
 * macOS: a profile of sandbox-exec. No network, no write, no other program, no signal to others, no file of a user but the interpreter's own.
 */

function profile(): Wall {
  const { status, stderr } = run(inProfile(["/usr/bin/true"], []));
  return status === 0
    ? { name: "profile", holds: true, text: "no network, no writing, no programs, no files of users" }
    : { name: "profile", holds: false, text: `\`sandbox-exec\` does not work here (${lastLine(stderr)})` };
}

function inProfile(command: Command, files: readonly string[]): Command {
  const [program] = command;
  const literal = (path: string) => `(literal ${JSON.stringify(path)})`;
  const ours = [program, ...files].map(literal).join(" ");
  const rules = [
    "(version 1)(allow default)(deny network*)(deny file-write*)(deny process-fork)(deny signal (target others))(deny mach-lookup)",
    `(deny file-read* (subpath "/Users") (subpath "/Volumes") (subpath "/private/tmp") (subpath "/private/var/folders") (subpath ${JSON.stringify(homedir())}))`,
    `(deny process-exec*)(allow process-exec ${literal(program)})(allow file-read-metadata)(allow file-read* ${ours} (subpath ${JSON.stringify(dirname(dirname(program)))}))`,
  ];
  return [
    "/bin/sh",
    "-c",
    'ulimit -c 0; ulimit -f 0; exec "$@"',
    "sh",
    "/usr/bin/sandbox-exec",
    "-p",
    rules.join(""),
    ...command,
  ];
}

/** Returns the process that runs the command: behind namespaces it is a child of the one that was started. */
export function innermost(pid: number): number {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    return child === "" ? pid : Number(child);
  } catch {
    return pid;
  }
}

const pageBytes = 4096;

/** Returns the bytes of memory that a process holds, as the system says; undefined if it does not. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  try {
    if (process.platform === "linux") return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * pageBytes;
    if (process.platform === "win32") return undefined;
    const { stdout } = await promisify(execFile)("/bin/ps", ["-o", "rss=", "-p", String(pid)]);
    return Number(stdout) * 1024;
  } catch {
    return undefined;
  }
}

function run([command, ...args]: Command): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  return { status, stdout: stdout ?? "", stderr: error?.message ?? stderr };
}

/** Returns the path of a program of the system. */
function which(program: string): string {
  const folders = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"];
  return folders.map((folder) => join(folder, program)).find(existsSync) ?? program;
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
