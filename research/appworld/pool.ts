import { rm } from "node:fs/promises";
import { join } from "node:path";
import { EnvError } from "../../src/core/errors.ts";
import { WorldClient, WorldError } from "./client.ts";
import { type ProcessOptions, WorldProcess } from "./process.ts";

export interface PoolOptions {
  readonly python: string;
  readonly root: string;
  readonly servers: number;
  readonly urls: readonly string[] | undefined;
  readonly port: number | undefined;
  readonly startTimeoutMs: number;
  readonly timeoutMs: number;
  /** As of `ProcessOptions`. */
  readonly startProgram?: ProcessOptions["startProgram"];
}

/** A server that plays one episode at a time. */
interface Slot {
  readonly index: number;
  /** Outputs of two servers under one name would delete each other. */
  readonly experiment: string;
  process: WorldProcess | undefined;
  client: WorldClient | undefined;
  /** True after a failure: its state is not known. */
  suspect: boolean;
}

/** A world that is open: one task on one server, until it is released. */
export interface World {
  execute(code: string, signal?: AbortSignal): Promise<string>;
  completed(): Promise<boolean>;
  evaluate(): ReturnType<WorldClient["evaluate"]>;
  release(): void;
}

/**
 * A fixed number of AppWorld servers, each a supervised process or one that is running elsewhere. A server is started when it is first needed, and
 * started again after a failure. Who finds none free waits.
 */
export class WorldPool {
  readonly #options: PoolOptions;
  readonly #slots: Slot[];
  readonly #free: Slot[];
  readonly #waiting: { readonly take: (slot: Slot) => void; readonly fail: (error: Error) => void }[] = [];
  #closed = false;

  constructor(options: PoolOptions) {
    const { urls, servers } = options;
    this.#options = options;
    const places: readonly (string | undefined)[] = urls ?? Array.from({ length: servers }, () => undefined);
    this.#slots = places.map((url, index) => ({
      index,
      experiment: `retrograde-${process.pid}-${index}`,
      process: undefined,
      client: url === undefined ? undefined : new WorldClient(url, options.timeoutMs),
      suspect: false,
    }));
    this.#free = [...this.#slots].reverse();
  }

  get size(): number {
    return this.#slots.length;
  }

  /** Starts the first server, or asks those that run elsewhere, so that what is missing is said before an episode begins. @throws EnvError */
  async open(): Promise<void> {
    this.#closed = false;
    if (this.#options.urls === undefined) {
      const [first] = this.#slots;
      if (first !== undefined) await this.#ready(first);
      return;
    }
    for (const { client } of this.#slots) {
      try {
        await client?.hello(Math.min(10_000, this.#options.timeoutMs));
      } catch (cause) {
        throw new EnvError("environment.settings.urls", client?.url, {
          expected: `a running \`appworld serve environment\` (${(cause as Error).message})`,
          hint: "Start it there, or leave urls out: then servers are started here.",
          cause,
        });
      }
    }
  }

  /** Opens a task's world on a free server. @throws EnvError if no server can be started, or the world not opened */
  async world(task: string): Promise<World> {
    const slot = await this.#take();
    try {
      await this.#initialize(slot, task);
    } catch (error) {
      slot.suspect = true;
      this.#give(slot);
      throw error;
    }
    let released = false;
    return {
      execute: (code, signal) => this.#guarded(slot, (client) => client.execute(task, code, signal), signal),
      completed: () => this.#guarded(slot, (client) => client.completed(task)),
      evaluate: () => this.#guarded(slot, (client) => client.evaluate(task)),
      release: () => {
        if (!released) this.#give(slot);
        released = true;
      },
    };
  }

  /** Stops all servers and removes what they wrote. Those that run elsewhere stay. */
  async close(): Promise<void> {
    this.#closed = true;
    const closed = new EnvError("the pool of AppWorld servers", "closed", { expected: "an open one" });
    for (const { fail } of this.#waiting.splice(0)) fail(closed);
    const started = this.#slots.filter(({ process }) => process !== undefined);
    await Promise.all(started.map(({ process }) => process?.stop()));
    const outputs = join(this.#options.root, "experiments", "outputs");
    for (const slot of started) {
      slot.process = undefined;
      slot.client = undefined;
      await rm(join(outputs, slot.experiment), { recursive: true, force: true });
    }
  }

  async #take(): Promise<Slot> {
    if (this.#closed) throw new EnvError("the pool of AppWorld servers", "closed", { expected: "an open one" });
    const free = this.#free.pop();
    return free ?? new Promise<Slot>((take, fail) => this.#waiting.push({ take, fail }));
  }

  #give(slot: Slot): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(slot);
    else next.take(slot);
  }

  /** A world that does not open is retried on a fresh server: a server that was left in a bad state refuses all of them. */
  async #initialize(slot: Slot, task: string): Promise<void> {
    try {
      const client = await this.#ready(slot);
      await client.initialize(task, slot.experiment);
    } catch (error) {
      if (!(error instanceof WorldError)) throw error;
      slot.suspect = true;
      if (slot.process === undefined) throw this.#failed(slot, `the world of ${task}`, error);
      try {
        const client = await this.#ready(slot);
        await client.initialize(task, slot.experiment);
      } catch (again) {
        throw again instanceof WorldError ? this.#failed(slot, `the world of ${task}`, again) : again;
      }
    }
  }

  async #ready(slot: Slot): Promise<WorldClient> {
    const { python, root, port, startTimeoutMs, timeoutMs, urls, startProgram } = this.#options;
    if (urls !== undefined) {
      slot.suspect = false;
      if (slot.client !== undefined) return slot.client;
    }
    if (slot.process !== undefined && (slot.suspect || !slot.process.alive)) {
      await slot.process.stop();
      slot.process = undefined;
    }
    slot.process ??= await WorldProcess.start({
      ...{ python, root, startTimeoutMs, timeoutMs, startProgram },
      ...(port === undefined ? {} : { port: port + slot.index }),
    });
    slot.suspect = false;
    return slot.process.client;
  }

  async #guarded<T>(slot: Slot, ask: (client: WorldClient) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const client = slot.process?.client ?? slot.client;
    if (client === undefined) throw new EnvError("the pool of AppWorld servers", "closed", { expected: "an open one" });
    try {
      return await ask(client);
    } catch (error) {
      // Whoever stopped waiting left a cell running.
      slot.suspect = true;
      signal?.throwIfAborted();
      if (error instanceof WorldError) throw this.#failed(slot, "an AppWorld server", error);
      throw error;
    }
  }

  #failed(slot: Slot, what: string, error: WorldError): EnvError {
    const reason = slot.process?.reason() ?? "";
    return new LostWorld(what, reason === "" ? error.message : `${error.message} (${reason})`, error);
  }
}

/** A world whose server failed. It can be made again by repeating its cells. */
export class LostWorld extends EnvError {
  /** True if the process ended by itself. */
  readonly lost: boolean;
  constructor(what: string, value: string, cause: WorldError) {
    super(what, value, { expected: "an answer", cause });
    this.lost = cause.lost;
  }
}
