import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { type Group, startGroup } from "../../../extensions/processes/group.ts";
import { ConfigError, EnvError } from "../../../src/core/errors.ts";

/** The official Python classes and checks, in two processes: the one that executes a model's calls has no way to the one that compares. */
export interface Evaluator {
  /** @throws CallTimeout if a call did not end; EnvError if the process fails */
  execute(request: EvaluatorRequest): Promise<unknown>;
  judge(request: EvaluatorRequest): Promise<unknown>;
  close(): Promise<void>;
}

export interface EvaluatorRequest {
  readonly op: string;
  /** A session lives until `close`; a request without one has a process of its own. */
  readonly session?: string;
  readonly [argument: string]: unknown;
}

/** The calls of a model did not end in time, or took more memory than there is: its session is over. */
export class SessionOver extends Error {}

/** The process says that a request is wrong: type and text of its error. */
export class RequestError extends Error {}

/** The server bounds each answer by 10 s; this bounds the server, its start included. */
const serverMs = 60_000;

const answerSchema = z.strictObject({ id: z.int(), result: z.unknown().optional(), error: z.string().optional() });

/**
 * @param python a Python 3.11 with the package bfcl-eval; nothing is started before the first request
 * @param start a process
 */
export function openEvaluator(python: string, start: typeof startGroup = startGroup): Evaluator {
  let [executor, judge]: (PythonServer | undefined)[] = [];
  return {
    execute: (request) => (executor ??= new PythonServer(start, python, "executor.py")).ask(request),
    judge: (request) => (judge ??= new PythonServer(start, python, "judge.py")).ask(request),
    async close() {
      await Promise.all([executor?.close(), judge?.close()]);
      executor = judge = undefined;
    },
  };
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** One Python process that answers lines of JSON, and those that it forks. */
class PythonServer {
  readonly #group: Group;
  readonly #ended: Promise<void>;
  readonly #pending = new Map<number, Pending>();
  #count = 0;
  #failure: Error | undefined;

  constructor(start: typeof startGroup, python: string, program: string) {
    const path = fileURLToPath(new URL(program, import.meta.url));
    const { PATH, HOME, LANG, LC_ALL, TMPDIR } = process.env;
    const env = Object.fromEntries(
      Object.entries({ PATH, HOME, LANG, LC_ALL, TMPDIR, PYTHONHASHSEED: "0" }).filter(([, value]) => value !== undefined),
    );
    this.#group = start(python, ["-W", "ignore", path], { env, stdio: ["pipe", "pipe", "pipe"] });
    const { child } = this.#group;
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-2000);
    });
    child.stdin?.on("error", () => {}); // its end is an event of its own
    if (child.stdout !== null) createInterface({ input: child.stdout }).on("line", (line) => this.#answer(line));
    this.#ended = new Promise((resolve) => {
      const end = (how: string, cause?: unknown) => {
        this.#failure ??= missing(python, said, how, cause);
        for (const { reject } of this.#pending.values()) reject(this.#failure);
        this.#pending.clear();
        resolve();
      };
      child.once("error", (error) => end(error.message, error));
      child.once("close", (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
  }

  ask(request: EvaluatorRequest): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#group.kill(), serverMs);
      const settle =
        <T>(done: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          done(value);
        };
      this.#pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#group.child.stdin?.write(`${JSON.stringify({ id, ...request })}\n`);
    });
  }

  #answer(line: string): void {
    const { id, result, error } = answerSchema.parse(JSON.parse(line));
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (error === undefined) pending?.resolve(result);
    else if (/^(no answer within|its process ended|its session is over)/.test(error)) pending?.reject(new SessionOver(error));
    else pending?.reject(new RequestError(error));
  }

  async close(): Promise<void> {
    this.#failure ??= new EnvError("BFCL's evaluator", "closed", { expected: "no request after its end" });
    this.#group.child.stdin?.end();
    await this.#group.end();
    await this.#ended;
  }
}

function missing(python: string, said: string, how: string, cause: unknown): Error {
  const last = said.trim().split("\n").at(-1) ?? "";
  const absent = cause !== undefined || /no package bfcl_eval|ModuleNotFoundError|ImportError/.test(last);
  const hint = `${installEvaluator} and name it by environment.settings.python, or by the variable RETROGRADE_BFCL_PYTHON.`;
  return absent
    ? new ConfigError("environment.settings.python", python, {
        expected: `a Python 3.11 with bfcl-eval (${last === "" ? how : last})`,
        hint,
        cause,
      })
    : new EnvError("BFCL's evaluator", `${how}${last === "" ? "" : `: ${last}`}`, { expected: "a process that answers", hint });
}

const installEvaluator =
  "Install the official evaluator: `python3.11 -m venv bfcl && bfcl/bin/pip install --no-deps bfcl-eval==2026.3.23 mpmath==1.3.0`,";

/** The Python of the settings, of the environment variable, or the path's. */
export function pythonOf(setting: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  return setting ?? (env.RETROGRADE_BFCL_PYTHON || "python3");
}
