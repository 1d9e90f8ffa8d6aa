import { z } from "zod";
import { jsonOf } from "../../src/core/json.ts";
import { fetchOnce } from "../../src/http/client.ts";

/** An answer that a world server could not give. After it the server's state is unknown, so it must be started again. */
export class WorldError extends Error {
  /** True if the connection broke: the process may have ended. */
  readonly lost: boolean;
  constructor(message: string, lost: boolean) {
    super(message);
    this.name = "WorldError";
    this.lost = lost;
  }
}

/** Something else answers at the address. */
export class OtherServer extends Error {}

const verdictSchema = z.object({
  success: z.boolean(),
  num_tests: z.int().min(0),
  passes: z.array(z.unknown()),
  failures: z.array(z.unknown()),
});
export type Verdict = z.output<typeof verdictSchema>;

/** Larger answers are not read: an endless print of a cell would fill the memory. */
const maxBytes = 16 * 2 ** 20;

/** The HTTP interface of `appworld serve environment`. Each call has one time limit, its body included. */
export class WorldClient {
  readonly url: string;
  readonly #timeoutMs: number;

  constructor(url: string, timeoutMs: number) {
    this.url = url.replace(/\/+$/, "");
    this.#timeoutMs = timeoutMs;
  }

  /** @throws WorldError if nothing that looks like AppWorld answers */
  async hello(timeoutMs = this.#timeoutMs): Promise<void> {
    const answer = await this.#ask("", undefined, timeoutMs);
    const { message } = this.#read("", z.object({ message: z.string() }), answer);
    if (!message.includes("AppWorld")) throw new WorldError(`${this.url} is another server: ${message.slice(0, 100)}`, false);
  }

  /** @throws OtherServer if the server is not the one that was started with this token; WorldError if none answers */
  async requireToken(token: string, timeoutMs: number): Promise<void> {
    let answer: string;
    try {
      answer = await this.#ask("retrograde", undefined, timeoutMs);
    } catch (error) {
      if (error instanceof WorldError && !error.lost && error.message.includes(" answered "))
        throw new OtherServer(error.message);
      throw error;
    }
    if (!answer.includes(token)) throw new OtherServer(answer.slice(0, 100));
  }

  async initialize(task: string, experiment: string): Promise<void> {
    await this.#output("initialize", { task_id: task, experiment_name: experiment }, z.object({ task_id: z.literal(task) }));
  }

  execute(task: string, code: string, signal?: AbortSignal): Promise<string> {
    return this.#output("execute", { task_id: task, code }, z.string(), signal);
  }

  completed(task: string): Promise<boolean> {
    return this.#output("task_completed", { task_id: task }, z.boolean());
  }

  /** Errors are suppressed: with them a task that fails is a bare 500. */
  evaluate(task: string): Promise<Verdict> {
    return this.#output("evaluate", { task_id: task, suppress_errors: true }, verdictSchema);
  }

  async #output<T>(path: string, body: object, schema: z.ZodType<T>, signal?: AbortSignal): Promise<T> {
    const answer = await this.#ask(path, body, this.#timeoutMs, signal);
    return this.#read(path, z.object({ output: schema }), answer).output;
  }

  async #ask(path: string, body: object | undefined, timeoutMs: number, signal?: AbortSignal): Promise<string> {
    const what = `/${path} of ${this.url}`;
    const post = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const request: RequestInit = { ...(body === undefined ? {} : post), redirect: "error" };
    const outcome = await fetchOnce(`${this.url}/${path}`, request, { timeoutMs, maxBytes }, signal);
    if ("failure" in outcome) {
      if (outcome.failure === "unreachable") throw new WorldError(`${what}: ${outcome.reason}`, true);
      if (outcome.failure === "late") throw new WorldError(`${what} gave no answer within ${timeoutMs} ms`, false);
      throw new WorldError(`${what} answered ${outcome.reason}`, false);
    }
    const { response, text } = outcome;
    if (response.ok) return text;
    throw new WorldError(`${what} answered ${response.status} ${text.slice(0, 200)}`, false);
  }

  #read<T>(path: string, schema: z.ZodType<T>, body: string): T {
    const parsed = schema.safeParse(jsonOf(body));
    if (parsed.success) return parsed.data;
    const said = `${body.slice(0, 200)} (${z.prettifyError(parsed.error)})`;
    throw new WorldError(`/${path} of ${this.url} answered what AppWorld does not: ${said}`, false);
  }
}
