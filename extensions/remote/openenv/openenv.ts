import { ConfigError } from "../../../src/core/errors.ts";
import type { Message } from "../../../src/core/messages.ts";
import { once } from "../../../src/core/once.ts";
import { seedOf } from "../../../src/core/random.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import { type Environment, type Episode, type Split, splits, type Task } from "../../../src/environments/environment.ts";
import { HttpClient } from "../shared/http.ts";
import { listedSizes, namesSchema } from "../shared/listed.ts";
import { SameStart } from "../shared/same-start.ts";
import { type Access, accessOf } from "../shared/settings.ts";
import { type Acting, actingOf, listTools, openenvEpisode } from "./episode.ts";
import { OpenenvSession } from "./session.ts";
import { type OpenenvSettings, openenvSettingsSchema } from "./settings.ts";
import { observationText } from "./show.ts";
import { schemasSchema, spoken } from "./wire.ts";

/** A task with the fields that are sent to `reset`. */
interface OpenenvTask extends Task {
  readonly reset: Readonly<Record<string, unknown>>;
}

/** Where tasks come from on a server. */
interface Tasks {
  size(split: Split): number;
  reset(split: Split, index: number): Readonly<Record<string, unknown>>;
}

/** Every index of a customary split has a seed of its own. Servers take them as 32-bit integers with a sign. */
const seeds: Tasks = {
  size: (split) => (splits.some((known) => known === split) ? Number.POSITIVE_INFINITY : 0),
  reset: (split, index) => ({ seed: seedOf(0, "task", split, index) >>> 1 }),
};

function listedResets(resets: NonNullable<OpenenvSettings["resets"]>): Tasks {
  return { size: (split) => resets[split]?.length ?? 0, reset: (split, index) => resets[split]?.[index] ?? {} };
}

/**
 * An environment on an OpenEnv server. Every episode has a WebSocket, and so an environment instance, of its own.
 * @param name it is recorded under, such as `openenv:ws://127.0.0.1:8000`
 * @param url `ws:`, `wss:`, `http:` or `https:`, without `/ws`
 * @throws ConfigError for wrong settings, or a key that is not set
 */
export function openenvEnvironment(name: string, url: string, userSettings: unknown): Environment<OpenenvTask> {
  return new OpenenvEnvironment(name, url, parseSettings(openenvSettingsSchema, userSettings ?? {}, "environment.settings"));
}

class OpenenvEnvironment implements Environment<OpenenvTask> {
  readonly name: string;
  readonly replayable: boolean;
  readonly turnRewards: boolean;
  readonly #settings: OpenenvSettings;
  readonly #http: HttpClient;
  readonly #socketUrl: string;
  readonly #access: Access;
  readonly #sameStart: SameStart;
  /** Those of the server, once it was asked. */
  #splits: readonly Split[];
  /** How the model acts, by the server's schema. */
  readonly #actingOf = once(() => this.#askActing());
  readonly #tasksOf = once(() => this.#askTasks());

  constructor(name: string, url: string, settings: OpenenvSettings) {
    this.name = name;
    this.replayable = settings.replayable;
    this.turnRewards = settings.rewards === "turns";
    this.#settings = settings;
    this.#splits = settings.resets === undefined ? splits : Object.keys(settings.resets);
    this.#sameStart = new SameStart(settings);
    this.#access = accessOf(settings);
    const base = url.replace(/\/ws$/, "");
    this.#socketUrl = `${base.replace(/^http/, "ws")}/ws`;
    this.#http = new HttpClient({ spoken, base: base.replace(/^ws/, "http"), ...this.#access });
  }

  get concurrency(): number | undefined {
    return this.#settings.concurrency;
  }

  get splits(): readonly Split[] {
    return this.#splits;
  }

  async open(): Promise<void> {
    await this.#actingOf();
    await this.#tasksOf();
  }

  async size(split: Split): Promise<number> {
    return (await this.#tasksOf()).size(split);
  }

  async task(split: Split, index: number): Promise<OpenenvTask> {
    return { id: `${split}/${index}`, reset: { ...this.#settings.reset, ...(await this.#tasksOf()).reset(split, index) } };
  }

  async start({ id, reset }: OpenenvTask): Promise<Episode> {
    const settings = this.#settings;
    const acting = await this.#actingOf();
    const { connectTimeoutMs } = settings;
    const session = await OpenenvSession.open({ url: this.#socketUrl, connectTimeoutMs, ...this.#access });
    try {
      const observation = await session.reset(reset);
      const tools = acting.kind === "tools" ? await listTools(session, settings) : acting.kind === "schema" ? [acting.tool] : [];
      const prompt = observationText(observation.observation, settings);
      const messages: Message[] = [
        ...(settings.system === undefined ? [] : [{ role: "system" as const, content: settings.system }]),
        { role: "user", content: prompt === "{}" ? "Begin." : prompt },
      ];
      this.#sameStart.check(id, messages);
      return openenvEpisode(session, acting, { observation, messages, tools }, settings);
    } catch (error) {
      session.close();
      throw error;
    }
  }

  async #askActing(): Promise<Acting> {
    if (this.#settings.actions === "tools") return { kind: "tools" };
    const { action } = await this.#http.json(schemasSchema, { path: "/schema" });
    const acting = actingOf(action, this.#settings);
    if (acting !== undefined) return acting;
    throw new ConfigError("environment.settings.textField", this.#settings.textField, {
      expected: `a field of the action: ${Object.keys(action.properties).join(", ")}`,
    });
  }

  async #askTasks(): Promise<Tasks> {
    const { resets, tasks } = this.#settings;
    if (resets !== undefined) return listedResets(resets);
    const listed = tasks === "seeds" ? undefined : await this.#listedTasks();
    if (listed !== undefined) return listed;
    if (tasks === "listed")
      throw new ConfigError("environment.settings.tasks", tasks, { expected: "seeds: this server lists no tasks" });
    return seeds;
  }

  /** @returns undefined if the server has no task routes */
  async #listedTasks(): Promise<Tasks | undefined> {
    const listed = await this.#http.ask({ path: "/list_environments" });
    if (listed.status !== 200) return undefined;
    const [name] = this.#http.read(namesSchema, listed.text, "/list_environments");
    const sizes = await listedSizes(this.#http, name);
    if (sizes === undefined) return undefined;
    this.#splits = [...sizes.keys()];
    return { size: (split) => sizes.get(split) ?? 0, reset: (split, index) => ({ split, index }) };
  }
}
