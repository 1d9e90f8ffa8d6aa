import { randomUUID } from "node:crypto";
import { z } from "zod";
import { DeadlineError, withinTime } from "../../../src/core/deadline.ts";
import { reasonOf } from "../../../src/core/errors.ts";
import { withPackage } from "../../../src/core/optional-package.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { type Dealer, openDealer, ZmtpError } from "./zmtp.ts";

export interface ClientOptions {
  readonly address: string;
  readonly connectTimeoutMs: number;
  /** Largest message, in bytes. */
  readonly maxBytes: number;
}

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
  readonly onDelta: (delta: unknown) => void;
}

const replySchema = z.looseObject({ success: z.boolean(), error: z.string().nullish() });
type Reply = z.output<typeof replySchema>;

/**
 * A client of verifiers' environment servers (verifiers 0.4, verifiers/v1/serve): ZeroMQ frames `[request, method, msgpack]`, answered by frames
 * `[request, "delta" | "reply", msgpack]`. Many requests share a connection.
 */
export class VerifiersClient {
  readonly #options: ClientOptions;
  readonly #waiting = new Map<string, Waiting>();
  #dealer: Promise<Dealer> | undefined;
  #decode: ((bytes: Uint8Array) => unknown) | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** True if the server answers. @throws RemoteEnvError if it does not in time */
  async health(timeoutMs: number): Promise<void> {
    await this.request("health", {}, { timeoutMs });
  }

  /**
   * @param onDelta is given what a run streams before its reply
   * @throws RemoteEnvError if there is no reply in time, or the server refuses
   */
  async request(
    method: "health" | "run" | "cancel",
    payload: object,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal; readonly onDelta?: (delta: unknown) => void },
  ): Promise<Reply> {
    const { timeoutMs, signal, onDelta = () => {} } = options;
    const { address } = this.#options;
    signal?.throwIfAborted();
    const load = () => import("@msgpack/msgpack");
    const { encode, decode } = await withPackage("@msgpack/msgpack", "environments on servers of verifiers", load);
    this.#decode = decode;
    const dealer = await this.#connected();
    const id = randomUUID().replaceAll("-", "");
    const replied = new Promise<Reply>((resolve, reject) => this.#waiting.set(id, { resolve, reject, onDelta }));
    replied.catch(() => {}); // it may come after the time
    const wait = (given: AbortSignal) => {
      // Without this a run continues, and asks for actions.
      const cancel = () => dealer.send([Buffer.from(randomUUID()), Buffer.from("cancel"), encode({ request_id: id })]);
      if (method === "run") given.addEventListener("abort", cancel);
      dealer.send([Buffer.from(id), Buffer.from(method), encode(payload)]);
      return replied;
    };
    try {
      const reply = await withinTime(wait, timeoutMs, signal);
      if (reply.success) return reply;
      throw new RemoteEnvError("refused", `${method} at ${address}`, reply.error ?? "no reason", { expected: "a result" });
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw new RemoteEnvError("timeout", `the answer of ${address} to ${method}`, undefined, {
        expected: `an answer within ${timeoutMs} ms`,
      });
    } finally {
      this.#waiting.delete(id);
    }
  }

  async close(): Promise<void> {
    const dealer = await this.#dealer?.catch(() => undefined);
    this.#dealer = undefined;
    dealer?.close();
  }

  #connected(): Promise<Dealer> {
    const { address } = this.#options;
    this.#dealer ??= openDealer({
      ...this.#options,
      onMessage: (frames) => this.#receive(frames),
      onEnd: (cause) => {
        this.#dealer = undefined;
        const error = this.#broken(cause);
        for (const { reject } of this.#waiting.values()) reject(error);
      },
    }).catch((cause: unknown) => {
      this.#dealer = undefined;
      throw cause instanceof ZmtpError
        ? this.#broken(cause)
        : new RemoteEnvError("unreachable", address, reasonOf(cause), {
            expected: "an environment server of verifiers",
            hint: "Is the server running, and its address right?",
            cause,
          });
    });
    return this.#dealer;
  }

  #broken(cause: Error): RemoteEnvError {
    const problem = cause instanceof ZmtpError ? (cause.problem === "too-large" ? "too-large" : "malformed") : "expired";
    return new RemoteEnvError(problem, `connection to ${this.#options.address}`, cause.message, {
      expected: "an environment server of verifiers 0.4",
      cause,
    });
  }

  #receive(frames: readonly Buffer[]): void {
    const waiting = this.#waiting.get(String(frames[0] ?? ""));
    if (waiting === undefined) return;
    try {
      const [, kind, body] = frames;
      if (body === undefined || frames.length !== 3) throw new Error(`${frames.length} frames, expected 3`);
      const value = this.#decode?.(body);
      if (String(kind) === "delta") waiting.onDelta(value);
      else waiting.resolve(replySchema.parse(value));
    } catch (cause) {
      waiting.reject(
        new RemoteEnvError("malformed", `an answer of ${this.#options.address}`, reasonOf(cause), {
          expected: "messages of verifiers 0.4",
          cause,
        }),
      );
    }
  }
}
