import type { Readable } from "node:stream";
import { z } from "zod";
import { jsonOf } from "../../../src/core/json.ts";

/** A request of the pool to a Python process. */
export interface Request {
  readonly id: number;
  /** Whether later calls continue in the same interpreter. If not, the next one gets a new one. */
  readonly continues: boolean;
  readonly code: string;
  readonly timeoutMs: number;
  /** Bytes of output that are kept. */
  readonly outputBytes: number;
}

export const answerSchema = z.object({
  id: z.number(),
  /** "" where nothing went wrong. */
  kind: z.enum(["", "error", "interrupted", "memory"]),
  /** The traceback of an error. */
  text: z.string(),
  output: z.string(),
  droppedBytes: z.number().min(0),
});
export type Answer = z.infer<typeof answerSchema>;

/** The first thing that a Python process says. */
export const readySchema = z.object({ ready: z.literal(true) });

/** Bytes of an answer beside its output: a traceback, and the rest. */
const otherBytes = 128 * 1024;

/** Returns the length of the longest answer to a request: JSON writes a byte as six at most. */
export function longestAnswer(outputBytes: number): number {
  return 6 * outputBytes + otherBytes;
}

/** Returns a message as it is sent: its length in four bytes, and JSON. */
export function frameOf(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message), "utf8");
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

/**
 * Calls back for each message. The sender is not trusted: what is longer than `longest()` bytes, or is no JSON, is `undefined`, and nothing is read
 * behind it.
 */
export function readFrames(from: Readable, longest: () => number, receive: (message: unknown) => void): void {
  let chunks: Buffer[] = [];
  let waiting = 0;
  let broken = false;
  from.on("data", (bytes: Buffer) => {
    if (broken) return;
    chunks.push(bytes);
    waiting += bytes.length;
    while (waiting >= 4 && !broken) {
      let [head] = chunks;
      if (head === undefined || head.length < 4) chunks = [(head = Buffer.concat(chunks))];
      const length = head.readUInt32BE(0);
      if (length <= longest() && waiting < 4 + length) return;
      const message = length <= longest() ? takeMessage(4 + length) : undefined;
      broken = message === undefined;
      receive(message);
    }
  });

  function takeMessage(size: number): unknown {
    const all = Buffer.concat(chunks);
    chunks = [all.subarray(size)];
    waiting -= size;
    return jsonOf(all.subarray(4, size).toString("utf8"));
  }
}
