import { randomUUID } from "node:crypto";
import { HttpError } from "../../extensions/http/http-error.ts";

export interface Session {
  readonly id: string;
  readonly createdAt: Date;
  readonly tags: readonly string[];
  lastSeen: number;
  /** The number of models and sampling sessions that were not numbered by the client. */
  count: number;
}

/** A sampler that a client named once, to be sampled many times. */
export interface SamplingSession {
  readonly id: string;
  readonly session: string;
  readonly base: string;
  /** Undefined for the base model. */
  readonly path: string | undefined;
}

/** Samplers that a session may name: one for each checkpoint that it samples. */
const samplersOfSession = 10_000;

/** Sessions of clients. One that is silent for a time is over, and what it holds is freed. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #samplings = new Map<string, SamplingSession>();
  readonly #silentMs: number;
  readonly #most: number;
  readonly #onEnd: (session: string) => Promise<void>;
  readonly #sweep: NodeJS.Timeout;

  /** @param most at a time */
  constructor(silentMs: number, most: number, onEnd: (session: string) => Promise<void>) {
    this.#silentMs = silentMs;
    this.#most = most;
    this.#onEnd = onEnd;
    this.#sweep = setInterval(() => void this.#endSilent(), Math.min(10_000, silentMs));
    this.#sweep.unref();
  }

  /** @throws HttpError (429) if there are as many as there may be */
  create(tags: readonly string[]): Session {
    if (this.#sessions.size >= this.#most)
      throw new HttpError(429, "sessions", this.#sessions.size + 1, {
        expected: `at most ${this.#most}`,
        hint: "Let a session end, or start the server with a larger --max-sessions.",
        retryAfter: 10,
      });
    const session = { id: `session-${randomUUID()}`, createdAt: new Date(), tags, lastSeen: Date.now(), count: 0 };
    this.#sessions.set(session.id, session);
    return session;
  }

  list(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** Finds a session, which counts as seen. @throws HttpError if it is not there */
  find(id: string, status = 404): Session {
    const session = this.#sessions.get(id);
    if (session === undefined) {
      throw new HttpError(status, "session", id, {
        expected: "an open session",
        hint: `A session ends after ${this.#silentMs / 1000} s without a request, and with the server.`,
      });
    }
    session.lastSeen = Date.now();
    return session;
  }

  /** Notes that a session was heard of, if it is still there. */
  seen(id: string): void {
    const session = this.#sessions.get(id);
    if (session !== undefined) session.lastSeen = Date.now();
  }

  /** @throws HttpError (422) if the session has named as many as it may */
  addSampling(sampling: SamplingSession): SamplingSession {
    const ofSession = [...this.#samplings.values()].filter(({ session }) => session === sampling.session).length;
    if (ofSession >= samplersOfSession)
      throw new HttpError(422, "sampling sessions", ofSession + 1, { expected: `at most ${samplersOfSession} of a session` });
    this.#samplings.set(sampling.id, sampling);
    return sampling;
  }

  /** @throws HttpError if there is none */
  sampling(id: string): SamplingSession {
    const sampling = this.#samplings.get(id);
    if (sampling === undefined) throw new HttpError(404, "sampling session", id, { expected: "one of an open session" });
    this.seen(sampling.session);
    return sampling;
  }

  async end(id: string): Promise<void> {
    this.#sessions.delete(id);
    for (const [sampling, { session }] of this.#samplings) if (session === id) this.#samplings.delete(sampling);
    await this.#onEnd(id);
  }

  close(): void {
    clearInterval(this.#sweep);
  }

  async #endSilent(): Promise<void> {
    const now = Date.now();
    for (const { id, lastSeen } of this.list()) if (now - lastSeen > this.#silentMs) await this.end(id);
  }
}
