import { spawnSync } from "node:child_process";

/** A wall of the operating system around a Python process. */
export interface Wall {
  readonly name: "limits" | "network";
  readonly holds: boolean;
  /** The text that says what it does, or why it is missing. */
  readonly text: string;
}

/** The bytes that Node, Pyodide and their libraries map before a cell runs. */
const startBytes = 384 * 2 ** 20;
/** File descriptors: what Node opens at its start, and a few. */
const descriptors = 40;

/**
 * The same command within the operating system's limits, as far as they are to be had: no writing to files, no dumps, a bound on memory that
 * is mapped for writing and on file descriptors, and, on Linux, a network of its own without any interface that is up.
 */
export function confined(command: readonly string[], memoryBytes: number): readonly string[] {
  const [limits, network] = walls();
  if (!limits.holds) return command;
  const kilobytes = Math.ceil((startBytes + 2 * memoryBytes) / 1024);
  const script = `ulimit -c 0; ulimit -f 0; ulimit -d ${kilobytes} 2>/dev/null; ulimit -n ${descriptors}; exec "$@"`;
  return ["/bin/sh", "-c", script, "sh", ...(network.holds ? unshare : []), ...command];
}

const unshare = ["unshare", "--user", "--map-root-user", "--net", "--ipc", "--"];

let known: readonly [Wall, Wall] | undefined;

/** Which walls hold on this machine; found out once. */
export function walls(): readonly [limits: Wall, network: Wall] {
  known ??= [findLimits(), findNetwork()];
  return known;
}

function findLimits(): Wall {
  if (process.platform === "win32")
    return {
      name: "limits",
      holds: false,
      text: "Windows has none that Node could set; Node's permission model and the refusals remain",
    };
  const { status } = spawnSync("/bin/sh", ["-c", `ulimit -f 0 && ulimit -n ${descriptors} && exec true`], { stdio: "ignore" });
  return status === 0
    ? { name: "limits", holds: true, text: "no writing to files, bounded memory and file descriptors" }
    : { name: "limits", holds: false, text: "the shell could not set limits" };
}

function findNetwork(): Wall {
  if (process.platform !== "linux") return { name: "network", holds: false, text: "only Linux has network namespaces" };
  const { status } = spawnSync(unshare[0], [...unshare.slice(1), "true"], { stdio: "ignore" });
  return status === 0
    ? { name: "network", holds: true, text: "a network namespace of its own, without interfaces" }
    : { name: "network", holds: false, text: "`unshare --user --net` is not allowed here; file descriptors are used up instead" };
}
