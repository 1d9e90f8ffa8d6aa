import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { z } from "zod";
import { availableMemory } from "../../../extensions/local/machine/memory-available.ts";
import {
  count,
  httpLimits,
  named,
  namedModels,
  ownKeys,
  serverFlags,
  untilInterrupted,
} from "../../../extensions/serve/cli/serve.ts";
import { parsedFlags } from "../../../extensions/serve/cli/serve-environment.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { defaultResultBytes } from "../futures.ts";
import { serveModel } from "../local-model.ts";
import type { ServedModel } from "../served-model.ts";
import { type RunningServer, startTinkerServer } from "../server.ts";

const flagsSchema = z.object({
  ...serverFlags,
  import: z.array(named).default([]),
  store: z.string().default("tinker-store"),
  maxModels: count(1).default(8),
  maxSamplers: count(1).default(8),
  maxQueue: count(1).default(1024),
  maxResults: count(1).default(defaultResultBytes / 2 ** 20),
  memory: z.coerce.number().positive().optional(),
  maxSessions: count(1).default(1024),
  sessionTimeout: count(1).default(300),
});

/** Serves until the process is interrupted. @returns the exit code */
export async function serveTinkerCommand(flags: unknown, screen: Screen): Promise<number> {
  return untilInterrupted(await startServer(flags, screen));
}

/** @throws ConfigError for flags, models or folders that do not exist */
export async function startServer(flags: unknown, screen: Screen): Promise<RunningServer> {
  const { model, port, host, key, store, threads, verbose, ...limits } = parsedFlags(flagsSchema, flags);
  const models: ServedModel[] = [];
  for (const { name, folder } of await namedModels(model, screen)) models.push(await serveModel(name, folder, threads));
  const imports = new Map(limits.import.map((each) => importOf(each)));
  const server = await startTinkerServer({
    models,
    imports,
    host,
    port,
    keys: [...key, ...ownKeys()],
    store: resolve(store),
    http: httpLimits(limits),
    limits: {
      models: limits.maxModels,
      sessions: limits.maxSessions,
      samplers: limits.maxSamplers,
      queue: limits.maxQueue,
      results: limits.maxResults * 2 ** 20,
      bytes: limits.memory === undefined ? 0.8 * availableMemory() : limits.memory * 2 ** 30,
    },
    sessionMs: limits.sessionTimeout * 1000,
    ...(verbose
      ? { log: (entry) => screen.line(`${entry.method} ${entry.path} ${entry.status} ${entry.ms.toFixed(0)} ms`) }
      : {}),
  });
  for (const line of greeting(server, models, imports)) screen.line(line);
  return server;
}

function greeting({ baseUrl }: RunningServer, models: readonly ServedModel[], imports: ReadonlyMap<string, string>): string[] {
  return [
    `Tinker server at ${baseUrl}`,
    ...models.map(({ name, folder }) => `  base model ${name}${name === folder ? "" : ` (${folder})`}`),
    ...[...imports].map(([name, folder]) => `  tinker://import/weights/${name} (${folder})`),
    `  TINKER_BASE_URL=${baseUrl} TINKER_API_KEY=tml-local python train.py`,
  ];
}

function importOf({ name, what }: z.output<typeof named>): [string, string] {
  if (!existsSync(what))
    throw new ConfigError("--import", what, { expected: "NAME=FOLDER, a folder in PEFT's or Hugging Face's format" });
  const shown = name ?? basename(resolve(what));
  if (!/^[a-zA-Z0-9_-]+$/.test(shown))
    throw new ConfigError("--import", shown, { expected: "a name of letters, digits, - and _" });
  return [shown, resolve(what)];
}
