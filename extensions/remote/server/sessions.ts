/** A session that a client may leave without a word. */
interface Session {
  /** When the client was last heard, in milliseconds of `performance.now()`. */
  readonly heardAt: number;
}

/** The open sessions of a server, each until its client ends it or has been silent for too long. */
export class Sessions<S extends Session> extends Map<string, S> {
  readonly #end: (id: string, session: S) => unknown;
  readonly #reaper: NodeJS.Timeout;

  /**
   * @param sessionMs longest silence
   * @param end ends one that was removed
   */
  constructor(sessionMs: number, end: (id: string, session: S) => unknown) {
    super();
    this.#end = end;
    this.#reaper = setInterval(
      () => {
        const limit = performance.now() - sessionMs;
        for (const [id, { heardAt }] of this) if (heardAt < limit) void this.remove(id);
      },
      Math.max(50, sessionMs / 4),
    );
    this.#reaper.unref();
  }

  async remove(id: string): Promise<void> {
    const session = this.get(id);
    if (session === undefined) return;
    this.delete(id);
    await this.#end(id, session);
  }

  async close(): Promise<void> {
    clearInterval(this.#reaper);
    await Promise.all([...this.keys()].map((id) => this.remove(id)));
  }
}
