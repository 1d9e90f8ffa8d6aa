import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { EngineError } from "../src/core/errors.ts";

/** A program of `bench/peers/`, loaded and warm, idle between rounds. */
export interface Peer {
  /** What it is, with versions. */
  readonly name: string;
  /** One measured round. @returns tokens per second */
  round(): Promise<number>;
  stop(): void;
}

const readySchema = z.object({ name: z.string() });
const roundSchema = z.object({ tokensPerSecond: z.number().positive() });

/** @throws EngineError if the program ends, or answers something else than `bench/peers/rounds.py` says */
export async function startPeer(python: string, script: string, args: readonly (string | number)[]): Promise<Peer> {
  const path = fileURLToPath(new URL(`peers/${script}`, import.meta.url));
  const child = spawn(python, [path, ...args.map(String)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async <T>(schema: z.ZodType<T>): Promise<T> => {
    const { value, done } = await lines.next();
    if (done) throw new EngineError(`bench/peers/${script}`, "ended", { hint: "Its own message stands above." });
    return schema.parse(JSON.parse(value));
  };
  const { name } = await read(readySchema);
  return {
    name,
    round: async () => {
      child.stdin.write("round\n");
      return (await read(roundSchema)).tokensPerSecond;
    },
    stop: () => child.kill(),
  };
}
