import { EnvError } from "../../src/core/errors.ts";
import { HttpError } from "../http/http-error.ts";

/** A model behind HTTP, as one episode reaches it. */
export interface AgentTarget {
  /** With `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly name: string;
}

/** An episode that runs in this process. */
export interface LivingEpisode {
  readonly key: string;
  /** Its task's text, which says whose request one is where nothing else does. */
  readonly prompt: string;
  readonly target: AgentTarget;
  requests: number;
  /** Model calls that it made to other servers. */
  readonly elsewhere: Set<string>;
  /** Why it cannot be counted: a request of another's was made in its context, or its own was refused. */
  fault: HttpError | undefined;
}

/** Texts shorter than this are in too many requests to say whose one is. */
const shortestPrompt = 8;
/** Keys of ended episodes that are remembered. */
const maxEnded = 10_000;

const ways =
  "Ways out: give the client the `apiKey` of the agent's second argument, wrap the job in `AsyncResource.bind(job)` before it is queued, make the queue " +
  "inside of the agent's function, or run one agent at a time (`concurrency: 1`, or --set rollout.concurrency=1).";
const causes =
  "A queue, pool, batcher, listener or worker that episodes share makes the call where another episode, or none, is running.";

/**
 * Who asks. A request has a key of its own, and the context in which it was made (AsyncLocalStorage). Its own key wins while that episode runs;
 * without one the context decides. What belongs to no running episode, or plainly to another, is refused with the cause: a turn in the wrong
 * episode would be trained in silence.
 */
export class Episodes {
  readonly #living = new Map<string | undefined, LivingEpisode>();
  readonly #ended = new Set<string>();
  /** Episodes that still run although nobody waits for them. */
  #left = 0;
  /** The last refusal that no running episode could be made out for. */
  #stray: HttpError | undefined;

  begin(key: string, prompt: string, target: AgentTarget): LivingEpisode {
    const episode: LivingEpisode = { key, prompt, target, requests: 0, elsewhere: new Set(), fault: undefined };
    if (this.#living.size === 0) this.#stray = undefined;
    this.#living.set(key, episode);
    return episode;
  }

  /** @param settled false for an episode that is left behind. @returns called when that has settled too */
  end({ key }: LivingEpisode, settled: boolean): () => void {
    this.#living.delete(key);
    this.#ended.add(key);
    const [oldest] = this.#ended;
    if (this.#ended.size > maxEnded && oldest !== undefined) this.#ended.delete(oldest);
    if (settled) return () => {};
    this.#left++;
    return () => void this.#left--;
  }

  find(key: string | undefined): LivingEpisode | undefined {
    return this.#living.get(key);
  }

  /**
   * The episode of a request.
   * @param own key of the request, "" if it has none
   * @param context the key of the episode in whose context it was made
   * @param text the last message of the user
   * @throws HttpError (401) with the cause if there is none
   */
  ownerOf(own: string, context: string | undefined, text: string): LivingEpisode {
    const [byKey, byContext] = [this.find(own), this.find(context)];
    // A client that was made once, with the key of the first episode, is no key of the request's own.
    const owner = byKey ?? (this.#ended.has(own) ? undefined : byContext);
    if (owner !== undefined) {
      const other = byKey === owner && (context === undefined || context === own) ? undefined : this.#otherIn(text, owner);
      if (other === undefined) return owner;
      const from = `a request about ${JSON.stringify(other.slice(0, 80))} came from the episode of ${JSON.stringify(owner.prompt.slice(0, 80))}`;
      const refused = this.#refused("that of another task", from, text);
      owner.fault ??= refused;
      throw refused;
    }
    const [only, ...more] = this.#living.values();
    // A worker or a timer of the module has no context: where one episode runs, and none was left behind, it works for that one.
    if (context === undefined && !this.#ended.has(own) && only !== undefined && more.length === 0 && this.#left === 0)
      return only;
    const ended = this.#ended.has(own)
      ? "its key is of an episode that has ended: is a client made once, and kept?"
      : context === undefined
        ? "it was made outside of any"
        : "it was made in the context of one that has ended";
    throw this.#refused("unknown", ended, text);
  }

  /**
   * Says why an episode that is over cannot be counted.
   * @param silent true where an episode without a request is no episode
   */
  verdict(episode: LivingEpisode, silent: boolean, variables: string): EnvError | undefined {
    const { fault = episode.requests === 0 ? this.#stray : undefined, requests, elsewhere } = episode;
    if (fault !== undefined) return new EnvError("an agent's request", "refused", { hint: fault.message, cause: fault });
    if (requests > 0) return undefined;
    if (elsewhere.size > 0) {
      const servers = [...elsewhere].join(", ");
      const hint = `The agent asked that server instead. Give its client the \`baseUrl\` and \`apiKey\` of the agent's second argument.${variables}`;
      // No failure of the agent's: nothing of the model was measured.
      const cause = new HttpError(401, "an agent's model", servers);
      return new EnvError("an agent's model", servers, { expected: "the one of this run", hint, cause });
    }
    return silent && variables !== ""
      ? new EnvError("an agent's requests", "none", { expected: "at least one", hint: variables.trim() })
      : undefined;
  }

  #refused(value: string, why: string, text: string): HttpError {
    const error = new HttpError(401, "the episode of a request", value, {
      expected: `one that runs: ${why}`,
      hint: `${causes} ${ways}`,
      code: "invalid_api_key",
    });
    const owners = [...this.#living.values()].filter(({ prompt }) => holds(text, prompt));
    for (const owner of owners) owner.fault ??= error;
    if (owners.length === 0) this.#stray = error;
    return error;
  }

  /** A running task that a text is plainly about and that is not the owner's: another's call, or a batch of several. */
  #otherIn(text: string, { prompt }: LivingEpisode): string | undefined {
    const found = new Set([...this.#living.values()].map((each) => each.prompt).filter((each) => holds(text, each)));
    const whole = [...found].filter((each) => ![...found].some((longer) => longer !== each && longer.includes(each)));
    return whole.find((each) => !prompt.includes(each));
  }
}

function holds(text: string, prompt: string): boolean {
  return prompt.length >= shortestPrompt && text.includes(JSON.stringify(prompt).slice(1, -1));
}

/** The last message of the user in a request of any interface, as JSON. */
export function lastRequest(body: unknown): string {
  const { messages, input, contents } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const list = messages ?? input ?? contents;
  if (!Array.isArray(list)) return JSON.stringify(list) ?? "";
  return JSON.stringify(list.findLast((message) => (message as { role?: unknown } | null)?.role === "user")) ?? "";
}
