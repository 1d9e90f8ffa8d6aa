import { Semaphore } from "../../../src/core/semaphore.ts";
import type { ChunkLimits } from "./chunks.ts";
import { TinkerError } from "./errors.ts";
import type { Transport } from "./transport.ts";

/** The parts that models and samplers of a session share. */
export interface Connection {
  readonly transport: Transport;
  readonly chunks: ChunkLimits;
  readonly resultTimeoutMs: number;
  /** Called with the state of the server's queue while a result is not there. */
  readonly onQueue: ((state: string) => void) | undefined;
  /** Runs a task once fewer than `inFlight` run. A signal that is aborted while the task waits rejects it. */
  limit<T>(task: () => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
}

/** A limiter whose waiting tasks can be cancelled. */
export function limiter(inFlight: number): Connection["limit"] {
  const room = new Semaphore(inFlight);
  return (task, signal) => {
    if (signal === undefined) return room.run(task);
    return new Promise((resolve, reject) => {
      const cancel = () =>
        reject(new TinkerError("a call that waited for its turn", "cancelled", { kind: "cancelled", retry: "later" }));
      if (signal.aborted) return cancel();
      signal.addEventListener("abort", cancel);
      room
        .run(async () => {
          if (!signal.aborted) resolve(await task());
        })
        .catch(reject)
        .finally(() => signal.removeEventListener("abort", cancel));
    });
  };
}

/** Waits until a checkpoint of which the name is taken is written: 425 says that it is not yet. */
export async function untilWritten(
  { transport, resultTimeoutMs }: Connection,
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  const start = performance.now();
  for (;;) {
    const call = { path: "weights_info", body: { tinker_path: path }, repeatable: true, expected: [425], signal };
    if ((await transport.send(call)).status !== 425) return;
    if (performance.now() - start > resultTimeoutMs)
      throw new TinkerError(`checkpoint ${path}`, "not written", { kind: "timeout", retry: "from-checkpoint" });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Says every few seconds that the client lives, until it is stopped. Servers unload the models of a silent session. */
export class Heartbeat {
  readonly #timer: NodeJS.Timeout;
  #ended: TinkerError | undefined;

  constructor(transport: Transport, sessionId: string, everyMs: number) {
    const beat = async () => {
      try {
        const path = "session_heartbeat";
        await transport.send({ path, body: { session_id: sessionId, type: path }, repeatable: true, patienceMs: 0 });
      } catch (error) {
        // What cannot be reached now is asked again; only the server can end a session.
        if (error instanceof TinkerError && error.status === 410) this.#ended = error;
      }
    };
    void beat(); // SkyRL never ends a session that sent none, and keeps its models for ever
    this.#timer = setInterval(() => void beat(), everyMs);
    this.#timer.unref();
  }

  /** The server's word that the session is over. */
  get ended(): TinkerError | undefined {
    return this.#ended;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
