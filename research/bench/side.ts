import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
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
  /**
   * One measured round. On Linux it has `cores` too: seconds of processor time, of ended children too, for each second that it took. Above the
   * number of threads that had work, these waited by spinning.
   * @param request what is to be measured, where there is a choice
   */
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

/** @throws EngineError if the program ends, or answers something else than `rounds.ts` and `rounds.py` say */
export async function startSide(program: Program, python: string | undefined): Promise<Side> {
  const { script } = program;
  const [command, args] = commandOf(program, python);
  const child: ChildProcess = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new EngineError(`bench/${script}`, "without pipes");
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const read = async <T>(schema: z.ZodType<T>): Promise<T> => {
    const { value, done } = await lines.next();
    if (done) throw new EngineError(`bench/${script}`, "ended", { hint: "Its own message stands above." });
    return schema.parse(JSON.parse(value));
  };
  const { name } = await read(readySchema);
  return {
    name,
    round: async (request) => {
      const [cpu, start] = [processorSeconds(child.pid), performance.now()];
      stdin.write(`${request}\n`);
      const round = await read(roundSchema);
      const seconds = (performance.now() - start) / 1000;
      const spent = processorSeconds(child.pid);
      return { ...round, ...(cpu !== undefined && spent !== undefined && { cores: (spent - cpu) / seconds }) };
    },
    stop: async () => {
      stdin.end();
      await Promise.race([exited, setTimeout(5000, undefined, { ref: false })]);
      child.kill();
    },
  };
}

/** Of a process and its ended children, user and system; undefined where the system does not say. */
function processorSeconds(pid: number | undefined): number | undefined {
  try {
    // The name, in brackets, may have spaces. Behind it: state, parent … and as the 12th to 15th field the four times, in hundredths.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ").slice(11, 15).map(Number) ?? [];
    return fields.reduce((sum, ticks) => sum + ticks, 0) / 100;
  } catch {
    return undefined;
  }
}

/** Runs a program to its end: what it writes is for the others to read. */
export async function runProgram(program: Program, python: string | undefined): Promise<void> {
  const [command, args] = commandOf(program, python);
  await promisify(execFile)(command, args);
}

/** What starts a program of TypeScript: for a peer that needs one itself. */
export function nodeCommand(script: string): string[] {
  return [process.execPath, jiti, fileURLToPath(new URL(script, import.meta.url))];
}

function commandOf(program: Program, python = "python3"): [string, string[]] {
  const { script } = program;
  const [command, ...args] = isPython(program) ? [python, fileURLToPath(new URL(script, import.meta.url))] : nodeCommand(script);
  return [command, [...args, ...program.args.map(String)]];
}
