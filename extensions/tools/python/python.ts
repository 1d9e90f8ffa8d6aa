import { z } from "zod";
import { ToolError } from "../../../src/core/errors.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import { longestTimer } from "../../../src/core/timer.ts";
import { cut } from "../../../src/tools/cut.ts";
import { defineTool, type Tool } from "../../../src/tools/tool.ts";
import { type Cell, type History, Pool, type PoolLimits } from "./pool.ts";
import { isWalled, walls } from "./walls.ts";

const megabyte = 2 ** 20;

export const pythonSettings = z.strictObject({
  /** Processes alive at the same time; each takes 100 MB and the memory that its code uses. */
  interpreters: z.int().min(1).default(2),
  /** For one call, its waiting for an interpreter not included. */
  timeoutMs: z.number().positive().max(longestTimer).default(10_000),
  /** The limit of Python's memory and its files together, 30 MB of which are taken from the start. WebAssembly ends at 4 GB. */
  memoryMb: z.number().min(64).max(4096).default(256),
  /** Characters of printed output. */
  maxOutput: z.int().min(1).default(10_000),
  /** Whether warnings and whatever else is written to standard error are output too. */
  stderr: z.boolean().default(true),
  /** Whether Python may run where the operating system has no wall around it; also by `--allow-unwalled-python`. */
  allowUnwalled: z.boolean().default(() => process.env.RETROGRADE_ALLOW_UNWALLED_PYTHON === "1"),
});
export type PythonSettings = z.input<typeof pythonSettings>;

export interface PythonResult {
  /** The text that the code printed and, as in a notebook, the value of its last expression; cut with a notice. */
  readonly output: string;
  /** undefined where all went well: a short traceback, or the limit that ended the code. */
  readonly error: string | undefined;
}

export interface Python {
  /** Every call starts from nothing. */
  readonly tool: Tool;
  /** Runs code from nothing. Never throws for what the code does. */
  run(code: string, signal?: AbortSignal): Promise<PythonResult>;
  /** A session of an episode, in which variables live from call to call. */
  session(): PythonSession;
  /** Starts the interpreters now, which the first calls otherwise wait for. */
  warm(): Promise<void>;
  /** Ends the processes. They never keep a program alive, so that one that is about to end need not close. */
  close(): void;
}

export interface PythonSession {
  readonly tool: Tool;
  /** Calls of one session run one after the other. */
  run(code: string, signal?: AbortSignal): Promise<PythonResult>;
  /** An independent copy in the same state, made when its first call runs, by running the session's code again. */
  fork(): PythonSession;
  /** Ends the session's process, for which others may wait. It needs no closing: a process that nobody used for longest makes room. */
  close(): void;
}

/** Added to a call's time limit for the wait for an interpreter, its start, and a session that is run again. */
const patienceMs = 60_000;

/** Characters of a traceback: Python shows 4000, whatever its code makes of that. */
const longestError = 8000;

/**
 * Python in WebAssembly, without any way to JavaScript, in processes that reach no file, no network and no other process; docs/tools.md says what
 * closes them off. Python's standard library is there and nothing else: numpy does not come from npm.
 * @throws ConfigError
 * @throws ToolError if the operating system has no wall around Python, and none is allowed to be missing
 * @example
 * const python = createPython({ timeoutMs: 5000 });
 * const { output } = await python.run("sum(range(10))"); // "45"
 * python.close();
 */
export function createPython(settings: PythonSettings = {}): Python {
  const { allowUnwalled, ...rest } = parseSettings(pythonSettings, settings, "python");
  if (!allowUnwalled && !isWalled()) throw unwalledError();
  return pythonOf(rest, (limits) => new Pool(limits));
}

type Limits = Omit<z.output<typeof pythonSettings>, "allowUnwalled">;

/** Python whose code a pool runs. */
export function pythonOf(
  { interpreters, timeoutMs, memoryMb, maxOutput, stderr }: Limits,
  open: (limits: PoolLimits) => Pick<Pool, "run" | "end" | "prepare" | "warm" | "close">,
): Python {
  const pool = open({ interpreters, timeoutMs, memoryBytes: memoryMb * megabyte, outputBytes: 4 * maxOutput, stderr });

  const runAfter = async (history: History | undefined, code: string, signal: AbortSignal | undefined): Promise<PythonResult> => {
    const answer = await pool.run(history, code, signal);
    const kept = history === undefined || history.cells.length === 0 ? "" : " Variables are as before this call.";
    const late = `stopped after ${timeoutMs / 1000} s.${kept}`;
    const limits = { time: late, interrupted: late, memory: `more than ${memoryMb} MB of memory.${kept}` };
    const texts = { ...limits, crash: crashText + kept, lost: lostText };
    if (typeof answer === "string") return { output: "", error: `Error: ${texts[answer]}` };
    const { kind, text, droppedBytes } = answer;
    const traceback = kind === "error" ? cut(text, longestError) : undefined;
    return {
      output: cut(answer.output, maxOutput, droppedBytes),
      error: kind === "" || kind === "error" ? traceback : `Error: ${texts[kind]}`,
    };
  };

  const toolOf = (description: string, idempotent: boolean, run: PythonSession["run"]): Tool =>
    defineTool({
      name: "python",
      description: `Runs Python code and returns what it prints and the value of its last line. Only the standard library is there. ${description}`,
      parameters: z.object({ code: z.string() }),
      timeoutMs: timeoutMs + patienceMs,
      // It is cut here, and its traceback shall be seen.
      maxOutput: Number.POSITIVE_INFINITY,
      idempotent,
      replayable: true,
      execute: async ({ code }, { signal }) => asText(await run(code, signal)),
    });

  const sessionAfter = (cells: readonly Cell[]): PythonSession => {
    const history: History = { cells: [...cells] };
    pool.prepare();
    let last: Promise<unknown> = Promise.resolve();
    const run: PythonSession["run"] = (code, signal) => {
      const result = last.then(() => runAfter(history, code, signal));
      last = result.catch(() => {});
      return result;
    };
    return {
      run,
      tool: toolOf("Variables stay for the next call.", false, run),
      fork: () => sessionAfter(history.cells),
      close: () => pool.end(history),
    };
  };

  const run: Python["run"] = (code, signal) => runAfter(undefined, code, signal);
  return {
    run,
    tool: toolOf("Every call starts anew, without the variables of earlier ones.", true, run),
    session: () => sessionAfter([]),
    warm: () => pool.warm(),
    close: () => pool.close(),
  };
}

const crashText = "the interpreter crashed and was replaced.";
const lostText =
  "this call was not run. The session's earlier calls could not be run again in their time, so that its variables are gone. The next call begins a new session.";

function unwalledError(): ToolError {
  const missing = walls().map(({ name, text }) => `${name}: ${text}`);
  return new ToolError("python", missing.join("; "), {
    expected: "a wall of the operating system around the Python process, behind WebAssembly's",
    hint: "If the code that your model writes may run without it: --allow-unwalled-python (in code: allowUnwalled: true).",
  });
}

/** Returns the text that the model reads. */
function asText({ output, error }: PythonResult): string {
  const parts = [output.trimEnd(), error ?? ""].filter((part) => part !== "");
  return parts.length === 0 ? "[no output: print what you want to see]" : parts.join("\n");
}
