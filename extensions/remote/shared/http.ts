import type { z } from "zod";
import { type Answered, exchange, LateError, WireError } from "./exchange.ts";
import { RemoteEnvError } from "./problem.ts";
import { type Access, capacityHint } from "./settings.ts";

export interface HttpOptions extends Access {
  readonly base: string;
  /** The protocol and its versions, for the errors of answers in another form. */
  readonly spoken: string;
}

export interface HttpRequest {
  readonly method?: "GET" | "POST";
  readonly path: string;
  /** JSON text, or a value to be written as JSON. */
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer extends Answered {
  readonly text: string;
}

const hints = {
  expired: "The session is gone, or the address is not that of such a server.",
  refused: "The server's own log says more.",
} as const;

function formProblems({ issues }: z.ZodError): string {
  const shown = issues.slice(0, 3).map(({ path, message }) => (path.length === 0 ? message : `at ${path.join(".")}: ${message}`));
  return [...shown, ...(issues.length > 3 ? ["…"] : [])].join("; ");
}

/** Asks a server for small documents, within limits of time and size. */
export class HttpClient {
  readonly #options: HttpOptions;
  /** As the server says it, where it does. */
  serverVersion?: string;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** @throws RemoteEnvError if there is no answer in time, or it is too large; the signal's reason */
  async ask(request: HttpRequest): Promise<HttpAnswer> {
    const parts: Uint8Array[] = [];
    const answer = await this.stream(request, (part) => parts.push(part) < 0);
    return { ...answer, text: Buffer.concat(parts).toString("utf8") };
  }

  /**
   * The same, part by part.
   * @param onPart returns true to stop reading: the rest is not waited for
   */
  async stream(request: HttpRequest, onPart: (part: Uint8Array, status: number) => boolean): Promise<Answered> {
    const { base, maxBytes, timeoutMs } = this.#options;
    const { method = "GET", path, body, signal } = request;
    const what = `${method} ${new URL(`${base}${path}`).pathname} of ${new URL(base).host}`;
    signal?.throwIfAborted();
    let bytes = 0;
    try {
      return await exchange({
        url: new URL(`${base}${path}`),
        method,
        headers: { ...this.#options.headers, ...request.headers },
        body: typeof body === "object" ? JSON.stringify(body) : body,
        timeoutMs,
        signal,
        onPart: (part, status) => {
          bytes += part.length;
          if (bytes <= maxBytes) return onPart(part, status);
          throw new RemoteEnvError("too-large", `the answer to ${what}`, `more than ${maxBytes} bytes`, {
            expected: "less than environment.settings.maxAnswer",
          });
        },
      });
    } catch (cause) {
      if (cause instanceof RemoteEnvError) throw cause;
      signal?.throwIfAborted();
      if (cause instanceof LateError)
        throw new RemoteEnvError("timeout", `the answer to ${what}`, undefined, {
          expected: `an answer within ${timeoutMs} ms`,
          cause,
        });
      // An error of the caller's, about a part that it read.
      if (!(cause instanceof WireError)) throw cause;
      throw new RemoteEnvError("unreachable", what, this.#shown(cause.message), {
        expected: "an answer",
        hint: "Is the server running, and its address right?",
        cause,
      });
    }
  }

  /** The answer as JSON of one form. @throws RemoteEnvError also for a status that is not 2xx, and for an answer of another form */
  async json<T>(schema: z.ZodType<T>, request: HttpRequest): Promise<T> {
    const { method = "GET", path } = request;
    const answer = await this.ask(request);
    const what = `${method} ${path}`;
    if (answer.status < 200 || answer.status >= 300) throw this.refusal(what, answer);
    return this.read(schema, answer.text, what);
  }

  /** Reads JSON of one form. @throws RemoteEnvError for another one */
  read<T>(schema: z.ZodType<T>, text: string, what: string): T {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw new RemoteEnvError("malformed", `the answer to ${what}`, noJson(this.#shown(text)), {
        expected: "JSON",
        hint: this.#otherProtocol(),
        cause,
      });
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new RemoteEnvError("malformed", `the answer to ${what}`, this.#shown(text.slice(0, 200)), {
      expected: `another form (${formProblems(parsed.error)})`,
      hint: this.#otherProtocol(),
    });
  }

  /** The error of an answer with a status that is not 2xx. */
  refusal(what: string, { status, text }: Pick<HttpAnswer, "status" | "text">): RemoteEnvError {
    const problem = status === 404 || status === 410 ? "expired" : status === 429 || status === 503 ? "capacity" : "refused";
    const hint =
      status === 401 || status === 403
        ? "Name the variable of its key: environment.settings.keyVariable."
        : problem === "capacity"
          ? capacityHint(this.#options)
          : hints[problem];
    return new RemoteEnvError(problem, what, `${status} ${this.#shown(text.slice(0, 300))}`, { expected: "status 2xx", hint });
  }

  #otherProtocol(): string {
    const server =
      this.serverVersion === undefined ? "The server does not say its version" : `The server is of version ${this.serverVersion}`;
    return `Spoken here is ${this.#options.spoken}. ${server}. Is this the address of such a server?`;
  }

  #shown(text: string): string {
    return hidden(text, this.#options.secrets);
  }
}

/** The part of a text that is no JSON. Python writes numbers that are none as words: the first field with one, else how the text begins. */
export function noJson(text: string): string {
  return /"[^"]*":\s*-?(?:NaN|Infinity)\b/.exec(text)?.[0] ?? text.slice(0, 200);
}

/** A text in which no key stands: servers may repeat what they were sent. */
export function hidden(text: string, secrets: readonly string[] = []): string {
  return secrets.filter((secret) => secret !== "").reduce((shown, secret) => shown.replaceAll(secret, "***"), text);
}
