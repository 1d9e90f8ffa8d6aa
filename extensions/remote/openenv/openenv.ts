import { ConfigError } from "../../../src/core/errors.ts";
import type { Message } from "../../../src/core/messages.ts";
import { once } from "../../../src/core/once.ts";
import { seedOf } from "../../../src/core/random.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import { type Environment, type Split, splits, type Task } from "../../../src/environments/environment.ts";
import { HttpClient } from "../shared/http.ts";
import { listedSizes, namesSchema } from "../shared/listed.ts";
import { SameStart } from "../shared/same-start.ts";
import { accessOf, declared } from "../shared/settings.ts";
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
  readonly splits: readonly Split[];
  size(split: Split): number;
  reset(split: Split, index: number): Readonly<Record<string, unknown>>;
}

/** Every index of a customary split has a seed of its own. Servers take them as 32-bit integers with a sign. */
const seeds: Tasks = {
  splits,
  size: (split) => (splits.some((known) => known === split) ? Number.POSITIVE_INFINITY : 0),
  reset: (split, index) => ({ seed: seedOf(0, "task", split, index) >>> 1 }),
};

/**
 * An environment on an OpenEnv server. Every episode has a WebSocket, and so an environment instance, of its own.
 * @param name it is recorded under, such as `openenv:ws://127.0.0.1:8000`
 * @param url `ws:`, `wss:`, `http:` or `https:`, without `/ws`
 * @throws ConfigError for wrong settings, or a key that is not set
 */
export function openenvEnvironment(name: string, url: string, userSettings: unknown): Environment<OpenenvTask> {
  const settings = parseSettings(openenvSettingsSchema, userSettings ?? {}, "environment.settings");
  const { resets, connectTimeoutMs, system } = settings;
  const access = accessOf(settings);
  const base = url.replace(/\/ws$/, "");
  const http = new HttpClient({ spoken, base: base.replace(/^ws/, "http"), ...access });
  const sameStart = new SameStart(settings);
  let known: readonly Split[] = resets === undefined ? splits : Object.keys(resets);
  const actingOnce = once(() => askActing(http, settings));
  const tasksOnce = once(async () => {
    const tasks = await askTasks(http, settings);
    known = tasks.splits;
    return tasks;
  });
  return {
    ...declared(name, settings),
    /** Those of the server, once it was asked. */
    get splits() {
      return known;
    },
    open: async () => {
      await actingOnce();
      await tasksOnce();
    },
    size: async (split) => (await tasksOnce()).size(split),
    task: async (split, index) => ({
      id: `${split}/${index}`,
      reset: { ...settings.reset, ...(await tasksOnce()).reset(split, index) },
    }),
    start: async ({ id, reset }) => {
      const acting = await actingOnce();
      const session = await OpenenvSession.open({ url: `${base.replace(/^http/, "ws")}/ws`, connectTimeoutMs, ...access });
      try {
        const observation = await session.reset(reset);
        const tools =
          acting.kind === "tools" ? await listTools(session, settings) : acting.kind === "schema" ? [acting.tool] : [];
        const prompt = observationText(observation.observation, settings);
        const messages: Message[] = [
          ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
          { role: "user", content: prompt === "{}" ? "Begin." : prompt },
        ];
        sameStart.check(id, messages);
        return openenvEpisode(session, acting, { observation, messages, tools }, settings);
      } catch (error) {
        session.close();
        throw error;
      }
    },
  };
}

/** How the model acts, by the server's schema. @throws ConfigError for a text field that is not there */
async function askActing(http: HttpClient, settings: OpenenvSettings): Promise<Acting> {
  if (settings.actions === "tools") return { kind: "tools" };
  const { action } = await http.json(schemasSchema, { path: "/schema" });
  const acting = actingOf(action, settings);
  if (acting !== undefined) return acting;
  throw new ConfigError("environment.settings.textField", settings.textField, {
    expected: `a field of the action: ${Object.keys(action.properties).join(", ")}`,
  });
}

async function askTasks(http: HttpClient, { resets, tasks }: OpenenvSettings): Promise<Tasks> {
  if (resets !== undefined)
    return {
      splits: Object.keys(resets),
      size: (split) => resets[split]?.length ?? 0,
      reset: (split, index) => resets[split]?.[index] ?? {},
    };
  const listed = tasks === "seeds" ? undefined : await listedTasks(http);
  if (listed !== undefined) return listed;
  if (tasks === "listed")
    throw new ConfigError("environment.settings.tasks", tasks, { expected: "seeds: this server lists no tasks" });
  return seeds;
}

/** @returns undefined if the server has no task routes */
async function listedTasks(http: HttpClient): Promise<Tasks | undefined> {
  const listed = await http.ask({ path: "/list_environments" });
  if (listed.status !== 200) return undefined;
  const [name] = http.read(namesSchema, listed.text, "/list_environments");
  const sizes = await listedSizes(http, name);
  if (sizes === undefined) return undefined;
  return { splits: [...sizes.keys()], size: (split) => sizes.get(split) ?? 0, reset: (split, index) => ({ split, index }) };
}
