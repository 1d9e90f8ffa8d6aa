import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { EngineError } from "../../src/core/errors.ts";

/** A program under `bench/`: TypeScript runs in Node, Python in the Python that was found. */
export interface Program {
  readonly script: string;
  readonly args: readonly (string | number)[];
}

/** One side of a comparison in a process of its own, so that its memory is its own: loaded and warm, idle between rounds. */
export interface Side {
  /** What it is, with versions. */
  readonly name: string;
  /** One measured round. @param request what is to be measured, where there is a choice */
  round(request: string): Promise<Quantities>;
  /** Lets it clear up, and ends it where that takes long, as in the middle of a round. */
  stop(): Promise<void>;
}

/** What a round has measured, by name. */
export type Quantities = Readonly<Record<string, number>>;

const readySchema = z.object({ name: z.string() });
const roundSchema = z.record(z.string(), z.number().positive());
const jiti = join(dirname(createRequire(import.meta.url).resolve("jiti")), "jiti-cli.mjs");

export function isPython({ script }: Program): boolean {
  return script.endsWith(".py");
}

function started(command: string, args: readonly string[]) {
  return spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
}

/** @throws EngineError if the program ends, or answers something else than `rounds.ts` and `rounds.py` say */
export async function startSide(program: Program, python: string | undefined, start = started): Promise<Side> {
  const child = start(...commandOf(program, python));
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async <T>(schema: z.ZodType<T>): Promise<T> => {
    const { value, done } = await lines.next();
    if (done) throw new EngineError(`bench/${program.script}`, "ended", { hint: "Its own message stands above." });
    return schema.parse(JSON.parse(value));
  };
  const { name } = await read(readySchema);
  return {
    name,
    round: (request) => {
      child.stdin.write(`${request}\n`);
      return read(roundSchema);
    },
    stop: async () => {
      child.stdin.end();
      await Promise.race([exited, setTimeout(5000, undefined, { ref: false })]);
      child.kill();
    },
  };
}

/** Runs a program to its end: what it writes is for the others to read. */
export async function runProgram(program: Program, python: string | undefined): Promise<void> {
  const [command, args] = commandOf(program, python);
  await promisify(execFile)(command, args);
}

/** The command line of a program. Default of `python`: the path's */
export function commandOf(program: Program, python = "python3"): [string, string[]] {
  const script = fileURLToPath(new URL(program.script, import.meta.url));
  const args = program.args.map(String);
  return isPython(program) ? [python, [script, ...args]] : [process.execPath, [jiti, script, ...args]];
}
