import { type ChildProcess, fork } from "node:child_process";
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ToolError } from "../../core/errors.ts";
import { type Answer, messageSchema, type Request } from "./protocol.ts";

/** How a Python process ended while it was asked: it was killed for its time, it ended itself for its memory, or it crashed. */
export type Ending = "time" | "memory" | "crash";

export interface PythonProcess {
  /** @throws ToolError where the interpreter could not be started. */
  readonly ready: Promise<void>;
  /** One request at a time. After an ending the process is gone. */
  ask(request: Omit<Request, "id">): Promise<Answer | Ending>;
  /** True once the process is gone, or about to be. */
  readonly ended: boolean;
  kill(): void;
}

/** What a request may take beyond its time limit, for Python to notice it, before the process is killed. */
const graceMs = 500;
const startMs = 60_000;
/** As in interpreter.mjs. */
const memoryExit = 87;

export interface ProcessSettings {
  readonly memoryBytes: number;
  /** Whether what is written to standard error is output too. */
  readonly stderr: boolean;
}

/** A Node process of its own with Pyodide in it. It does not keep this process alive, but for the time in which it is asked. */
export function startPython({ memoryBytes, stderr }: ProcessSettings): PythonProcess {
  const child = spawn({ memoryBytes, stderr });
  let ended = false;
  let nextId = 0;
  let listener: (message: unknown) => void = () => {};
  let onEnd: (code: number | null) => void = () => {};
  child.on("message", (message) => listener(message));
  const end = (code: number | null) => {
    ended = true;
    onEnd(code);
  };
  child.on("exit", end);
  child.on("error", () => end(null));

  const kill = () => {
    ended = true;
    child.kill("SIGKILL");
  };
  const ready = new Promise<void>((resolve, reject) => {
    const failed = (problem: string) =>
      reject(new ToolError("python", problem, { expected: "an interpreter that starts", hint: "Is pyodide installed?" }));
    const timer = setTimeout(() => {
      failed("silent");
      kill();
    }, startMs);
    onEnd = (code) => {
      clearTimeout(timer);
      failed(`ended with code ${code}`);
    };
    listener = () => {
      clearTimeout(timer);
      keepAlive(child, false);
      resolve();
    };
  });

  const ask = (request: Omit<Request, "id">) =>
    new Promise<Answer | Ending>((resolve) => {
      const id = nextId++;
      const limitMs = request.timeoutMs * (1 + (request.replay?.length ?? 0)) + graceMs;
      const finish = (answer: Answer | Ending) => {
        clearTimeout(timer);
        listener = () => {};
        onEnd = () => {};
        if (!ended) keepAlive(child, false);
        resolve(answer);
      };
      const timer = setTimeout(() => {
        kill();
        finish("time");
      }, limitMs);
      onEnd = (code) => finish(code === memoryExit ? "memory" : "crash");
      listener = (message) => {
        const parsed = messageSchema.safeParse(message);
        if (parsed.success && "id" in parsed.data && parsed.data.id === id) return finish(parsed.data);
        kill();
        finish("crash");
      };
      keepAlive(child, true);
      if (ended) return finish("crash");
      child.send({ id, ...request }, (error) => {
        if (error !== null) finish("crash");
      });
    });

  return {
    ready,
    ask,
    kill,
    get ended() {
      return ended;
    },
  };
}

function spawn({ memoryBytes, stderr }: ProcessSettings): ChildProcess {
  const program = fileURLToPath(new URL("./interpreter.mjs", import.meta.url));
  const pyodide = dirname(realpathSync(createRequire(import.meta.url).resolve("pyodide/package.json"))) + sep;
  const permission = process.allowedNodeEnvironmentFlags.has("--permission") ? "--permission" : "--experimental-permission";
  return fork(program, [pyodide, String(memoryBytes), ...(stderr ? ["stderr"] : [])], {
    env: {},
    execArgv: [
      permission,
      `--allow-fs-read=${pyodide}`,
      `--allow-fs-read=${program}`,
      `--allow-fs-read=${join(dirname(program), "cells.mjs")}`,
      "--disallow-code-generation-from-strings",
      "--no-addons",
      "--no-warnings",
      `--max-old-space-size=${Math.ceil(memoryBytes / 2 ** 20)}`,
    ],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
}

function keepAlive(child: ChildProcess, alive: boolean): void {
  if (alive) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}
