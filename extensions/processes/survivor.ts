import { spawn } from "node:child_process";
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

let pipe: Writable | undefined;

function start(): Writable {
  // In a group of its own: Ctrl-C in a terminal does not end it.
  const shell = spawn("/bin/sh", ["-c", script], { cwd: "/", env: {}, detached: true, stdio: ["pipe", "ignore", "ignore"] });
  const { stdin } = shell;
  // Without a shell, groups end with this process wherever it can still act.
  shell.on("error", () => {});
  stdin.on("error", () => {});
  shell.unref();
  if ("unref" in stdin && typeof stdin.unref === "function") stdin.unref();
  return stdin;
}

/** Ends a process group when this process is gone. @returns takes it back */
export function watchOver(group: number): () => void {
  pipe ??= start();
  pipe.write(`open ${group}\n`);
  return () => void pipe?.write(`closed ${group}\n`);
}
