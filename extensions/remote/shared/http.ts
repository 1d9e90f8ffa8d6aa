import type { z } from "zod";
import { fetchOnce } from "../../../src/http/client.ts";
import { RemoteEnvError } from "./problem.ts";
import { type Access, capacityHint } from "./settings.ts";

export interface HttpOptions extends Access {
  readonly base: string;
  /** The protocol and its versions, for the errors of answers in another form. */
  readonly spoken: string;
}

interface HttpRequest {
  readonly path: string;
  /** Sent by POST as JSON; without it the request is a GET. */
  readonly body?: object;
}

interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** The first problems of an answer's form, on one line. */
function formProblems({ issues }: z.ZodError): string {
  const shown = issues.slice(0, 3).map(({ path, message }) => (path.length === 0 ? message : `at ${path.join(".")}: ${message}`));
  return [...shown, ...(issues.length > 3 ? ["…"] : [])].join("; ");
}

/** Asks a server for small documents, within limits of time and size. */
export class HttpClient {
  readonly #options: HttpOptions;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** @throws RemoteEnvError if there is no answer in time, or it is too large */
  async ask({ path, body }: HttpRequest): Promise<HttpAnswer> {
    const { base, headers, timeoutMs, maxBytes } = this.#options;
    const posted = { method: "POST", body: JSON.stringify(body), headers: { ...headers, "content-type": "application/json" } };
    // A key goes to no other server.
    const init: RequestInit = { ...(body === undefined ? { headers } : posted), redirect: "manual" };
    const outcome = await fetchOnce(`${base}${path}`, init, { timeoutMs, maxBytes });
    if ("response" in outcome) return { status: outcome.response.status, text: outcome.text };
    const what = `${body === undefined ? "GET" : "POST"} ${new URL(`${base}${path}`).pathname} of ${new URL(base).host}`;
    if (outcome.failure === "too large")
      throw new RemoteEnvError("too-large", `the answer to ${what}`, outcome.reason, {
        expected: "less than environment.settings.maxAnswer",
      });
    if (outcome.failure === "late")
      throw new RemoteEnvError("timeout", `the answer to ${what}`, undefined, { expected: `an answer within ${timeoutMs} ms` });
    throw new RemoteEnvError("unreachable", what, this.#shown(outcome.reason), {
      expected: "an answer",
      hint: "Is the server running, and its address right?",
    });
  }

  /** The answer as JSON of one form. @throws RemoteEnvError also for a status that is not 2xx, and for an answer of another form */
  async json<T>(schema: z.ZodType<T>, request: HttpRequest): Promise<T> {
    const answer = await this.ask(request);
    const what = `${request.body === undefined ? "GET" : "POST"} ${request.path}`;
    if (answer.status < 200 || answer.status >= 300) throw this.#refusal(what, answer);
    return this.read(schema, answer.text, what);
  }

  /** Reads JSON of one form. @throws RemoteEnvError for another one */
  read<T>(schema: z.ZodType<T>, text: string, what: string): T {
    const hint = `Spoken here is ${this.#options.spoken}. Is this the address of such a server?`;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      const shown = noJson(this.#shown(text));
      throw new RemoteEnvError("malformed", `the answer to ${what}`, shown, { expected: "JSON", hint, cause });
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new RemoteEnvError("malformed", `the answer to ${what}`, this.#shown(text.slice(0, 200)), {
      expected: `another form (${formProblems(parsed.error)})`,
      hint,
    });
  }

  #refusal(what: string, { status, text }: HttpAnswer): RemoteEnvError {
    const full = status === 429 || status === 503;
    const hint =
      status === 401 || status === 403
        ? "Name the variable of its key: environment.settings.keyVariable."
        : full
          ? capacityHint(this.#options)
          : status >= 300 && status < 400
            ? "The server sends requests elsewhere: set that address."
            : "Is this the address of such a server? Its own log says more.";
    return new RemoteEnvError(full ? "capacity" : "refused", what, `${status} ${this.#shown(text.slice(0, 300))}`, {
      expected: "status 2xx",
      hint,
    });
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
