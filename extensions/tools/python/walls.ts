import { dirname } from "node:path";
import { inKernelRules } from "./kernel-rules.ts";
import { type Command, here, type System } from "./system.ts";

/** A wall of the operating system around a Python process. It is the second one: the first is WebAssembly's. */
export interface Wall {
  readonly name: "namespaces" | "rules" | "limits" | "profile";
  readonly holds: boolean;
  /** The text that says what it does, or why it is missing. */
  readonly text: string;
}

const found = new WeakMap<System, readonly Wall[]>();

/** Returns the walls that a system could have. Each is tried once in a program. */
export function walls(system = here): readonly Wall[] {
  const all = found.get(system) ?? findWalls(system);
  found.set(system, all);
  return all;
}

/** True if the operating system closes off a Python process, wholly or in part. */
export function isWalled(system = here): boolean {
  return walls(system).some(({ holds }) => holds);
}

function findWalls(system: System): readonly Wall[] {
  if (system.platform === "linux") {
    const apart = namespaces(system);
    return apart.holds ? [apart, limits(system)] : [apart, rules(system), limits(system)];
  }
  if (system.platform === "darwin") return [profile(system)];
  return [{ name: "limits", holds: false, text: `${system.platform} has none that Node could set` }];
}

/** Returns a command that runs another one behind the walls that hold. `files` are what it reads beside its own libraries. */
export function enclosed(command: Command, files: readonly string[], system = here): Command {
  const holding = new Set(walls(system).flatMap(({ name, holds }) => (holds ? [name] : [])));
  if (holding.has("namespaces")) return inNamespaces(command, files, system);
  if (holding.has("profile")) return inProfile(command, files, system);
  if (holding.has("rules")) return inRules(command, files, system);
  return holding.has("limits") ? [...endingWithUs(system), ...command] : command;
}

/*
 * Linux's namespaces: a file system of nothing but the files that the interpreter is made of, read-only; no network interface; no other process to
 * see or to signal; no privileges, and no way to any. All of it ends with its first process, and that one with ours.
 */

function namespaces(system: System): Wall {
  const { status, stderr } = system.run(inNamespaces([system.which("setpriv"), "--version"], [], system));
  return status === 0
    ? { name: "namespaces", holds: true, text: "files, network and processes of its own, no privileges" }
    : { name: "namespaces", holds: false, text: `not allowed here (${lastLine(stderr)})` };
}

function inNamespaces(command: Command, files: readonly string[], system: System): Command {
  const setpriv = system.which("setpriv");
  const needed = [...new Set([setpriv, ...librariesOf(setpriv, system), ...filesOf(command, files, system)])];
  const folders = [...new Set(needed.map((file) => `.${dirname(file)}`))];
  // In a table of mounts a space would end a name.
  const written = (path: string) => path.replace(/[\\\s]/g, (each) => `\\${each.charCodeAt(0).toString(8).padStart(3, "0")}`);
  const table = needed.map((file) => `${written(file)} ${written(`/sys${file}`)} none bind,ro,nosuid,nodev`);
  const apart = "--user --map-root-user --mount --net --ipc --uts --pid --fork --kill-child --".split(" ");
  const enter = ["/bin/sh", "-c", enterRoot, "sh", folders.join("\n"), needed.join("\n"), table.join("\n")];
  const powerless = [setpriv, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"];
  return [...endingWithUs(system), "unshare", ...apart, ...enter, ...powerless, ...command];
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
function endingWithUs({ which }: System): Command {
  return [which("setpriv"), "--pdeathsig=KILL"];
}

const libraries = new Map<string, readonly string[]>();

/** Returns the libraries that the system's loader maps for a program. */
function librariesOf(program: string, { run, which }: System): readonly string[] {
  const all = libraries.get(program) ?? run([which("ldd"), program]).stdout.match(/\/\S+(?= \(0x)/g) ?? [];
  libraries.set(program, all);
  return all;
}

/** Returns all files that a command reads. */
function filesOf([program]: Command, files: readonly string[], system: System): readonly string[] {
  return [program, ...librariesOf(program, system), ...files];
}

/*
 * Without namespaces: the kernel's rules, which the process sets on itself before it is the interpreter. What is not of the interpreter cannot be
 * read, started or changed by its path, and no other process be signalled, read or slowed.
 */

function rules(system: System): Wall {
  const { status, stdout, stderr } = system.run(inRules([system.which("setpriv"), "--version"], [], system));
  const [version, filter] = stdout.split(/\s/);
  const parts = [...(Number(version) > 0 ? [`Landlock ${version}`] : []), ...(filter === "1" ? ["seccomp"] : [])];
  return status === 0 && parts.length > 0
    ? { name: "rules", holds: true, text: `${parts.join(" and ")}: no other file or process is acted on` }
    : { name: "rules", holds: false, text: `${lastLine(stderr)}; code that escapes could remove files and signal processes` };
}

/** Returns a command that runs another one under the kernel's rules. */
function inRules(command: Command, files: readonly string[], system: System): Command {
  const ruled = inKernelRules(system.which("perl"), command, filesOf(command, files, system));
  return [...endingWithUs(system), "--no-new-privs", ...ruled];
}

/*
 * Linux's limits, set from outside once the interpreter has started: it can open no descriptor any more (no file, no socket, no pipe), write no
 * byte to a file, start no process unless it is root's, and map no more memory than that.
 */

function limits({ run, which }: System): Wall {
  return run([which("prlimit"), "--version"]).status === 0
    ? { name: "limits", holds: true, text: "no new descriptor, no byte to a file, bounded memory" }
    : { name: "limits", holds: false, text: "`prlimit` of util-linux is not installed" };
}

/** The bytes that Node and its libraries map before a cell runs. */
const startBytes = 384 * 2 ** 20;

/** Limits a process that has all that it needs. @throws Error if the kernel refuses */
export async function limit(pid: number, memoryBytes: number, system = here): Promise<void> {
  if (!walls(system).some(({ name, holds }) => name === "limits" && holds)) return;
  const most = { nofile: 0, fsize: 0, core: 0, nproc: 0, data: startBytes + 2 * memoryBytes };
  const flags = Object.entries(most).map(([name, value]) => `--${name}=${value}`);
  await system.start([system.which("prlimit"), `--pid=${pid}`, ...flags]);
}

/*
 * macOS: a profile of sandbox-exec. No network, no write, no other program, no signal to others, no file of a user but the interpreter's own.
 */

function profile(system: System): Wall {
  const { status, stderr } = system.run(inProfile(["/usr/bin/true"], [], system));
  return status === 0
    ? { name: "profile", holds: true, text: "no network, no writing, no programs, no files of users" }
    : { name: "profile", holds: false, text: `\`sandbox-exec\` does not work here (${lastLine(stderr)})` };
}

function inProfile(command: Command, files: readonly string[], { home }: System): Command {
  const [program] = command;
  const literal = (path: string) => `(literal ${JSON.stringify(path)})`;
  const ours = [program, ...files].map(literal).join(" ");
  const rules = [
    "(version 1)(allow default)(deny network*)(deny file-write*)(deny process-fork)(deny signal (target others))(deny mach-lookup)",
    `(deny file-read* (subpath "/Users") (subpath "/Volumes") (subpath "/private/tmp") (subpath "/private/var/folders") (subpath ${JSON.stringify(home)}))`,
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
export function innermost(pid: number, { read } = here): number {
  try {
    const [child] = read(`/proc/${pid}/task/${pid}/children`).split(" ");
    return child === "" ? pid : Number(child);
  } catch {
    return pid;
  }
}

const pageBytes = 4096;

/** Returns the bytes of memory that a process holds, as the system says; undefined if it does not. */
export async function residentBytes(pid: number, { platform, read, start } = here): Promise<number | undefined> {
  try {
    if (platform === "linux") return Number(read(`/proc/${pid}/statm`).split(" ")[1]) * pageBytes;
    if (platform === "win32") return undefined;
    return Number(await start(["/bin/ps", "-o", "rss=", "-p", String(pid)])) * 1024;
  } catch {
    return undefined;
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
