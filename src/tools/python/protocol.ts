import type { Readable } from "node:stream";
import { z } from "zod";

/** A request of the pool to a Python process. */
export interface Request {
  readonly id: number;
  /** Code that takes a fresh session to where this call continues; null where the process is there already. */
  readonly replay: readonly string[] | null;
  readonly code: string;
  /** For `code`, and for each replayed piece of it. */
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
  droppedBytes: z.number(),
  /** False where the replay ran out of time. */
  restored: z.boolean(),
  /** Size of the WebAssembly memory, which never shrinks. */
  memoryBytes: z.number(),
});
export type Answer = z.infer<typeof answerSchema>;

/** The first thing that a Python process says. */
export const readySchema = z.object({ ready: z.literal(true) });

/** The longest message that is read. What is longer, an answer's output being cut, was not written by the interpreter's program. */
const longestFrame = 64 * 2 ** 20;

/** A message as it travels: its length in four bytes, and JSON. */
export function frameOf(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message), "utf8");
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

/**
 * Calls back for each message. What a Python process says is not trusted, since code that runs in it may have said it: what is no frame, or no
 * JSON, is a message that fits no schema, and nothing is read behind it.
 */
export function readFrames(from: Readable, receive: (message: unknown) => void): void {
  let waiting: Buffer = Buffer.alloc(0);
  let broken = false;
  const breakOff = () => {
    broken = true;
    waiting = Buffer.alloc(0);
    receive(undefined);
  };
  from.on("data", (bytes: Buffer) => {
    if (broken) return;
    waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes]);
    while (!broken && waiting.length >= 4) {
      const length = waiting.readUInt32BE(0);
      if (length > longestFrame) return breakOff();
      if (waiting.length < 4 + length) return;
      const body = waiting.subarray(4, 4 + length).toString("utf8");
      waiting = waiting.subarray(4 + length);
      try {
        receive(JSON.parse(body));
      } catch {
        return breakOff();
      }
    }
  });
}

/** Returns the secret of a message, which it must carry to be the interpreter's own. */
export function secretOf(message: unknown): string | undefined {
  return z.object({ secret: z.string() }).safeParse(message).data?.secret;
}
