import type { WebSocket } from "ws";
import { z } from "zod";
import { DeadlineError, withinTime } from "../../../src/core/deadline.ts";
import { withPackage } from "../../../src/core/optional-package.ts";
import { hidden, noJson } from "../shared/http.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { type Access, capacityHint } from "../shared/settings.ts";
import { type Answer, answerSchema, type Observation } from "./wire.ts";

export interface SessionOptions extends Access {
  /** The address of the WebSocket `/ws`. */
  readonly url: string;
  readonly connectTimeoutMs: number;
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One session of an OpenEnv server: a WebSocket with an environment of its own. Requests are answered in their order, so there is one at a
 * time; after an answer that is late the socket is closed, since the next answer would belong to the request before.
 */
export class OpenenvSession {
  readonly #socket: WebSocket;
  readonly #options: SessionOptions;
  readonly #host: string;
  #waiting: Waiting | undefined;
  /** An answer that came before it was asked for: a server at its capacity says so and closes. */
  #early: Answer | undefined;
  #failure: RemoteEnvError | undefined;

  private constructor(socket: WebSocket, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#host = new URL(options.url).host;
    socket.on("message", (data) => this.#receive(this.#shown(String(data))));
    socket.on("error", (error) => this.#fail(this.#problemOf(error)));
    socket.on("close", (code, reason) => this.#fail(this.#closed(code, this.#shown(reason.toString()))));
  }

  #shown(text: string): string {
    return hidden(text, this.#options.secrets);
  }

  /** @throws RemoteEnvError if there is no connection in time; ConfigError if `ws` is not installed */
  static async open(options: SessionOptions): Promise<OpenenvSession> {
    const { url, headers, connectTimeoutMs, maxBytes } = options;
    const { WebSocket } = await withPackage("ws", "environments on OpenEnv servers", () => import("ws"));
    const socket = new WebSocket(url, {
      headers: { ...headers },
      handshakeTimeout: connectTimeoutMs,
      maxPayload: maxBytes,
      perMessageDeflate: false,
    });
    const session = new OpenenvSession(socket, options);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("close", () => reject(session.#failure)); // after an error too
    });
    return session;
  }

  /** @param parameters of `reset` */
  reset(parameters: Readonly<Record<string, unknown>>): Promise<Observation> {
    return this.#observe("reset", JSON.stringify(parameters));
  }

  /** @param action as JSON text, so that numbers stay as the model wrote them */
  step(action: string, signal?: AbortSignal): Promise<Observation> {
    return this.#observe("step", action, signal);
  }

  /** Ends the session on both sides. */
  close(): void {
    if (this.#socket.readyState === this.#socket.OPEN) {
      this.#socket.send('{"type":"close"}');
      this.#socket.close();
      // A server that does not answer the close holds the socket for as long as the library waits.
      setTimeout(() => this.#socket.terminate(), 1000).unref();
    } else this.#socket.terminate();
  }

  async #observe(what: "reset" | "step", data: string, signal?: AbortSignal): Promise<Observation> {
    const answer = await this.#ask(`{"type":"${what}","data":${data}}`, what, signal);
    if (answer.type === "observation") return answer.data;
    if (answer.type !== "error") throw this.#malformed(what, answer.type);
    const { code, message, errors, max_sessions: most } = answer.data;
    if (code === "CAPACITY_REACHED")
      throw new RemoteEnvError("capacity", `sessions of ${this.#host}`, `${most ?? "as many as it allows"} are open`, {
        expected: "a free session",
        hint: capacityHint(this.#options, most ?? undefined),
      });
    throw new RefusedStep(
      code,
      `${what} at ${this.#host}`,
      `${code}: ${[message, ...errors.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`)].join("; ")}`,
      { expected: "an observation" },
    );
  }

  async #ask(text: string, what: string, signal?: AbortSignal): Promise<Answer> {
    signal?.throwIfAborted();
    const early = this.#early;
    this.#early = undefined;
    if (early !== undefined) return early;
    if (this.#failure !== undefined) throw this.#failure;
    const { timeoutMs } = this.#options;
    const answered = new Promise<Answer>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    answered.catch(() => {}); // it may come after the time
    this.#socket.send(text);
    try {
      return await withinTime(() => answered, timeoutMs, signal);
    } catch (error) {
      const isLate = error instanceof DeadlineError;
      if (!isLate && !signal?.aborted) throw error;
      const ending = isLate
        ? new RemoteEnvError("timeout", `the answer of ${this.#host} to ${what}`, undefined, {
            expected: `an answer within ${timeoutMs} ms`,
            hint: "A longer wait is environment.settings.timeoutMs.",
          })
        : new RemoteEnvError("expired", `session at ${this.#host}`, "cancelled");
      this.#end(ending);
      throw ending;
    } finally {
      this.#waiting = undefined;
    }
  }

  #receive(text: string): void {
    const answer = this.#read(text);
    if (answer instanceof RemoteEnvError) this.#end(answer);
    else if (this.#waiting !== undefined) this.#waiting.resolve(answer);
    else if (answer.type === "error") this.#early = answer;
    else this.#end(this.#malformed("nothing", "an answer that was not asked for"));
  }

  #read(text: string): Answer | RemoteEnvError {
    try {
      const parsed = answerSchema.safeParse(JSON.parse(text));
      return parsed.success ? parsed.data : this.#malformed("a request", z.prettifyError(parsed.error));
    } catch {
      return this.#malformed("a request", noJson(text));
    }
  }

  #malformed(what: string, value: string): RemoteEnvError {
    return new RemoteEnvError("malformed", `the answer of ${this.#host} to ${what}`, value, {
      expected: 'JSON of OpenEnv\'s WebSocket protocol: {"type": "observation", "data": …} or {"type": "error", …}',
      hint: "Is this an OpenEnv server of version 0.2 to 0.10, and are all rewards finite numbers?",
    });
  }

  #end(error: RemoteEnvError): void {
    this.#fail(error);
    this.#socket.terminate();
  }

  /** Keeps the first failure: what comes after it is its consequence. */
  #fail(error: RemoteEnvError): void {
    this.#failure ??= error;
    this.#waiting?.reject(this.#failure);
  }

  #problemOf(error: Error & { readonly code?: string }): RemoteEnvError {
    if (error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH")
      return new RemoteEnvError("too-large", `a message of ${this.#host}`, `more than ${this.#options.maxBytes} bytes`, {
        expected: "less than environment.settings.maxAnswer",
      });
    const timedOut = error.message.includes("handshake has timed out");
    return new RemoteEnvError(
      timedOut ? "timeout" : "unreachable",
      `connection to ${this.#options.url}`,
      this.#shown(error.message || (error.code ?? "")),
      {
        expected: timedOut ? `a connection within ${this.#options.connectTimeoutMs} ms` : "an OpenEnv server",
        hint: timedOut
          ? "A server that is busy with others may take longer: environment.settings.connectTimeoutMs."
          : "Is the server running, and its address right?",
        cause: error,
      },
    );
  }

  #closed(code: number, reason: string): RemoteEnvError {
    return new RemoteEnvError(
      "expired",
      `session at ${this.#host}`,
      `closed by the server (${code}${reason === "" ? "" : ` ${reason}`})`,
      {
        expected: "an open session",
        hint: "Servers close sessions that are idle (session_timeout), and when they end.",
      },
    );
  }
}

/** The server's own refusal of a request. The session continues. */
export class RefusedStep extends RemoteEnvError {
  readonly code: string;

  constructor(code: string, subject: string, value: string, details: { readonly expected: string }) {
    super("refused", subject, value, details);
    this.code = code;
  }
}
