import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { dirname, join, sep } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { ToolError } from "../../core/errors.ts";
import { type Answer, answerSchema, frameOf, type Request, readFrames, readySchema, secretOf } from "./protocol.ts";
import { confined } from "./sandbox.ts";

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

/** The time that a request may take beyond its limit, for Python to notice it, before the process is killed. */
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
  const child = spawnInterpreter({ memoryBytes, stderr });
  const [requests, answers] = [child.stdio[3] as Writable, child.stdio[4] as Readable];
  // Comes with every answer: what something else writes to the pipe is no answer.
  const secret = randomBytes(16).toString("hex");
  let ended = false;
  let nextId = 0;
  let listener: (message: unknown) => void = () => {};
  let onEnd: (code: number | null) => void = () => {};
  const end = (code: number | null) => {
    ended = true;
    onEnd(code);
  };
  child.on("exit", end);
  child.on("error", () => end(null));
  for (const pipe of [requests, answers]) pipe.on("error", () => {}); // it ended, which "exit" tells
  readFrames(answers, (message) => listener(message));

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
    listener = (message) => {
      if (!readySchema.safeParse(message).success || secretOf(message) !== secret) return kill();
      clearTimeout(timer);
      keepAlive(child, false);
      resolve();
    };
    requests.write(frameOf({ secret }));
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
        const parsed = answerSchema.safeParse(message);
        if (parsed.success && parsed.data.id === id && secretOf(message) === secret) return finish(parsed.data);
        kill();
        finish("crash");
      };
      keepAlive(child, true);
      if (ended) return finish("crash");
      requests.write(frameOf({ id, ...request }), (error) => {
        if (error) finish("crash");
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

function spawnInterpreter({ memoryBytes, stderr }: ProcessSettings): ChildProcess {
  const program = fileURLToPath(new URL("./interpreter.mjs", import.meta.url));
  const pyodide = dirname(realpathSync(createRequire(import.meta.url).resolve("pyodide/package.json"))) + sep;
  const permission = process.allowedNodeEnvironmentFlags.has("--permission") ? "--permission" : "--experimental-permission";
  const node = [
    process.execPath,
    permission,
    `--allow-fs-read=${pyodide}`,
    `--allow-fs-read=${program}`,
    `--allow-fs-read=${join(dirname(program), "cells.mjs")}`,
    "--disallow-code-generation-from-strings",
    "--no-addons",
    "--no-warnings",
    `--max-old-space-size=${Math.ceil(memoryBytes / 2 ** 20)}`,
    program,
    pyodide,
    String(memoryBytes),
    ...(stderr ? ["stderr"] : []),
  ];
  const [command, ...args] = confined(node, memoryBytes);
  return spawn(command, args, { env: {}, stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
}

function keepAlive(child: ChildProcess, alive: boolean): void {
  const pipes = [child.stdio[3], child.stdio[4]].map((pipe) => pipe as Socket);
  for (const each of [child, ...pipes]) {
    if (alive) each.ref();
    else each.unref();
  }
}
