import { ConfigError, EnvError } from "../../src/core/errors.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { AppworldData, type AppworldTask } from "./data.ts";
import { diagnose } from "./diagnose.ts";
import { startEpisode } from "./episode.ts";
import { pythonOf, rootOf } from "./places.ts";
import { WorldPool } from "./pool.ts";
import { systemPrompt } from "./prompt.ts";
import { appworldSettingsSchema } from "./settings.ts";

/**
 * AppWorld (arXiv:2407.18901) as an environment: everyday tasks in nine apps, done by writing code. The worlds are those of AppWorld's own
 * server, in processes that this environment starts and supervises; its data is not part of this package.
 * @throws ConfigError naming the first setting that is wrong
 */
export function appworldEnvironment(userSettings: unknown = {}): Environment<AppworldTask> {
  const settings = parseSettings(appworldSettingsSchema, userSettings, "environment.settings");
  if (settings.urls !== undefined && settings.port !== undefined)
    throw new ConfigError("environment.settings.port", settings.port, {
      expected: "nothing beside urls, which are running already",
    });
  const { servers, urls, port, startTimeoutMs, timeoutMs } = settings;
  const places = { python: pythonOf(settings), root: rootOf(settings) };
  const data = new AppworldData(places.root);
  const pool = new WorldPool({ ...places, servers, urls, port, startTimeoutMs, timeoutMs });
  let documents: ReturnType<AppworldData["documents"]> | undefined;
  const systemOf = (task: AppworldTask) => {
    documents ??= data.documents();
    return systemPrompt(task, documents, settings);
  };
  return {
    name: "appworld",
    splits: data.names(),
    size: (split) => data.ids(split).length,
    task(split, index) {
      const id = data.ids(split)[index];
      if (id === undefined)
        throw new EnvError(`task ${index} of appworld split`, split, { expected: `less than ${data.ids(split).length}` });
      return data.task(id);
    },
    start: (task) => startEpisode({ task, pool, system: systemOf(task), settings }),
    concurrency: pool.size,
    open: () => {
      data.requireData();
      return pool.open();
    },
    close: () => pool.close(),
    diagnose: () => diagnose(places, data, settings),
  };
}
