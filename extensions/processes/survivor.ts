import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import type { Writable } from "node:stream";

/**
 * A shell that outlives this process by a second: it keeps the numbers of groups that are open, and ends them when the pipe to it breaks. So
 * they end also where this process could do nothing any more: by SIGKILL, by the kernel for want of memory.
 */
const script = `
open=""
while read -r what group; do
  if [ "$what" = open ]; then open="$open $group"; continue; fi
  left=""
  for each in $open; do [ "$each" = "$group" ] || left="$left $each"; done
  open="$left"
done
[ -n "$open" ] || exit 0
for each in $open; do kill -TERM -"$each"; done
sleep 1
for each in $open; do kill -KILL -"$each"; done`;

type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess;

/** A way to end a process group when this process is gone. @returns takes it back */
export type WatchOver = (group: number) => () => void;

/** Returns a way to end groups, for which the first one starts the shell. */
export function survivorBy(start: Spawn): WatchOver {
  let pipe: Writable | null | undefined;
  return (group) => {
    pipe ??= inputOf(start);
    pipe?.write(`open ${group}\n`);
    return () => void pipe?.write(`closed ${group}\n`);
  };
}

export const watchOver = survivorBy((...given) => spawn(...given));

function inputOf(start: Spawn): Writable | null {
  // In a group of its own: Ctrl-C in a terminal does not end it.
  const shell = start("/bin/sh", ["-c", script], { cwd: "/", env: {}, detached: true, stdio: ["pipe", "ignore", "ignore"] });
  const { stdin } = shell;
  // Without a shell, groups end with this process wherever it can still act.
  shell.on("error", () => {});
  stdin?.on("error", () => {});
  shell.unref();
  if (stdin !== null && "unref" in stdin && typeof stdin.unref === "function") stdin.unref();
  return stdin;
}
