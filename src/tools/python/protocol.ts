import { z } from "zod";

/** What the pool asks a Python process. */
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

const answerSchema = z.object({
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

/** What a Python process says. It is not trusted: code that runs in it may have said it. */
export const messageSchema = z.union([z.object({ ready: z.literal(true) }), answerSchema]);
