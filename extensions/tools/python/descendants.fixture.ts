import { readFileSync } from "node:fs";

/** Returns how many bytes processes below this one held at most. */
export function watchPeak(): () => number {
  let peak = 0;
  const timer = setInterval(() => {
    for (const pid of descendants(process.pid)) {
      try {
        peak = Math.max(peak, Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096);
      } catch {
        // It ended.
      }
    }
  }, 20);
  return () => {
    clearInterval(timer);
    return peak;
  };
}

/** Returns the processes below one. */
export function descendants(pid: number): readonly number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
    return children.flatMap((child) => [child, ...descendants(child)]);
  } catch {
    return [];
  }
}
