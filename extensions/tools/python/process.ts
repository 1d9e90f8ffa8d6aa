import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { reasonOf, ToolError } from "../../../src/core/errors.ts";
import { guest, openImage } from "./image.ts";
import { nodeProgram } from "./node.ts";
import { type Answer, answerSchema, frameOf, longestAnswer, type Request, readFrames, readySchema } from "./protocol.ts";
import { type Command, here, type System } from "./system.ts";
import { enclosed, innermost, limit, residentBytes } from "./walls.ts";

/** How a Python process ended while it was asked: it was killed for its time or its memory, or it crashed. */
export type Ending = "time" | "memory" | "crash";

/** The time that a request may take beyond its limit, for Python to notice it, before the process is killed. */
const graceMs = 500;
const startMs = 60_000;
/** Time between two looks at a process's memory. */
const lookMs = 50;

export interface ProcessSettings {
  readonly memoryBytes: number;
  /** Whether what is written to standard error is output too. */
  readonly stderr: boolean;
}

/** The parts that a process is started with. */
export interface Start {
  readonly spawn: (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess;
  readonly openImage: () => Promise<number>;
  readonly system: System;
}

/**
 * Starts a Python process, which does not keep this one alive but for the time in which it is asked. Its time and memory are looked at from here.
 * @param program what runs in it; tests have one that is hostile
 * @throws ToolError if it does not start
 */
export async function startPython(
  settings: ProcessSettings,
  program = join(guest, "main.mjs"),
  start: Start = { spawn, openImage, system: here },
): Promise<PythonProcess> {
  const { memoryBytes } = settings;
  const { system } = start;
  const child = await spawnEnclosed(program, settings, start);
  const python = new PythonProcess(child, system);
  await python.greeted();
  const pid = innermost(child.pid ?? 0, system);
  await limit(pid, memoryBytes, system).catch((cause: unknown) => {
    python.kill();
    throw new ToolError("python", reasonOf(cause), { expected: "a process that the kernel limits", cause });
  });
  python.limit(pid, ((await residentBytes(pid, system)) ?? Number.POSITIVE_INFINITY) + 1.5 * memoryBytes);
  keepAlive(child, false);
  return python;
}

export class PythonProcess {
  readonly #child: ChildProcess;
  readonly #system: System;
  readonly #requests: Writable;
  #ended = false;
  #nextId = 0;
  #longest = longestAnswer(0);
  #listener: (message: unknown) => void = () => this.kill();
  #onEnd: (why: string) => void = () => {};
  #pid = 0;
  #maxResident = Number.POSITIVE_INFINITY;

  constructor(child: ChildProcess, system: System) {
    this.#child = child;
    this.#system = system;
    this.#requests = child.stdio[3] as Writable;
    const answers = child.stdio[4] as Readable;
    const said = collect(child.stdio[2] as Readable);
    const end = (why: string) => {
      this.#ended = true;
      this.#onEnd(why);
    };
    child.on("close", (code, signal) => end(`ended with ${signal ?? `code ${code}`}${said()}`));
    child.on("error", (error) => end(error.message));
    for (const pipe of [this.#requests, answers]) pipe.on("error", () => {}); // it ended, as "close" says
    readFrames(
      answers,
      () => this.#longest,
      (message) => this.#listener(message),
    );
  }

  /** True once the process is gone, or about to be. */
  get ended(): boolean {
    return this.#ended;
  }

  kill(): void {
    this.#ended = true;
    this.#child.kill("SIGKILL");
  }

  /** Waits for the interpreter. @throws ToolError if it does not start */
  greeted(): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const failed = (problem: string, hint = "`retrograde-rl doctor` says what it needs.") => {
        clearTimeout(timer);
        this.kill();
        reject(new ToolError("python", problem, { expected: "an interpreter that starts", hint }));
      };
      const busy =
        "The machine has more to do than it can: a start takes a second of a free core. Fewer `interpreters` start at a time.";
      const timer = setTimeout(() => failed(`still starting after ${startMs / 1000} s`, busy), startMs);
      this.#onEnd = failed;
      this.#listener = (message) => {
        if (!readySchema.safeParse(message).success) return failed("something that is no greeting");
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** @param maxResident bytes above which a process that works is killed */
  limit(pid: number, maxResident: number): void {
    this.#pid = pid;
    this.#maxResident = maxResident;
    this.#listener = () => this.kill();
  }

  /** One request at a time. After an ending the process is gone. */
  ask(request: Omit<Request, "id">): Promise<Answer | Ending> {
    return new Promise<Answer | Ending>((resolve) => {
      const id = this.#nextId++;
      let done = false;
      const finish = (answer: Answer | Ending) => {
        done = true;
        clearTimeout(timer);
        this.#onEnd = () => {};
        this.#listener = () => this.kill();
        if (typeof answer === "string") this.kill();
        if (!this.#ended) keepAlive(this.#child, false);
        resolve(answer);
      };
      const timer = setTimeout(() => finish("time"), request.timeoutMs + graceMs);
      const look = async () => {
        const bytes = await residentBytes(this.#pid, this.#system);
        if (done) return;
        if (bytes !== undefined && bytes > this.#maxResident) return finish("memory");
        setTimeout(look, lookMs).unref();
      };
      this.#onEnd = () => finish("crash");
      this.#longest = longestAnswer(request.outputBytes);
      this.#listener = (message) => {
        const parsed = answerSchema.safeParse(message);
        finish(parsed.success && parsed.data.id === id ? parsed.data : "crash");
      };
      keepAlive(this.#child, true);
      if (this.#ended) return finish("crash");
      setTimeout(look, lookMs).unref();
      this.#requests.write(frameOf({ id, ...request }), (error) => {
        if (error && !done) finish("crash");
      });
    });
  }
}

async function spawnEnclosed(
  main: string,
  { memoryBytes, stderr }: ProcessSettings,
  { spawn, openImage, system }: Start,
): Promise<ChildProcess> {
  const node = await nodeProgram();
  const image = await openImage();
  const files = [main, ...readdirSync(guest).map((name) => join(guest, name))].filter((file) => file.endsWith(".mjs"));
  const flags = ["--expose-gc", "--no-warnings", "--max-old-space-size=128"];
  const program: Command = [node, ...flags, main, String(memoryBytes), ...(stderr ? ["stderr"] : [])];
  const [command, ...args] = enclosed(program, files, system);
  // A process group of its own: a signal to its group reaches nobody else, and Ctrl-C in a terminal is ours alone.
  return spawn(command, args, { cwd: "/", env: {}, detached: true, stdio: ["ignore", "ignore", "pipe", "pipe", "pipe", image] });
}

const longestSaid = 1000;

/** Returns what a process said at last, to tell why it did not start. */
function collect(from: Readable): () => string {
  let text = "";
  from.on("data", (bytes: Buffer) => {
    text = (text + bytes.toString("utf8").slice(-longestSaid)).slice(-longestSaid);
  });
  from.on("error", () => {});
  return () => (text === "" ? "" : `: ${text.trim()}`);
}

function keepAlive(child: ChildProcess, alive: boolean): void {
  const pipes = [2, 3, 4].map((at) => child.stdio[at] as Socket);
  for (const each of [child, ...pipes]) {
    if (alive) each.ref();
    else each.unref();
  }
}
