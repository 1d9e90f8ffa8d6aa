import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, resolve } from "node:path";
import { z } from "zod";
import { type Chat, makeChat } from "../../../src/chat/chat.ts";
import { loadTokenizer } from "../../../src/chat/tokenizer-folder.ts";
import { showDownload } from "../../../src/cli/download.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { modelFolder } from "../../../src/sdk/model.ts";
import { listenForInterrupt } from "../../../src/terminal/interrupt.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { type HttpLimits, httpDefaults } from "../../http/server.ts";
import { engineModel } from "../../inference/engine-model.ts";
import { type RunningInference, serveInference } from "../../inference/server.ts";
import { availableMemory } from "../../local/machine/memory-available.ts";
import { defaultResultBytes } from "../../tinker/server/futures.ts";
import type { ServedModel } from "../../tinker/server/served-model.ts";
import { type RunningServer, startTinkerServer } from "../../tinker/server/server.ts";
import { serveModel } from "../served-model.ts";
import { startEnvironmentServer } from "./serve-environment.ts";

const named = z.string().transform((text) => {
  const at = text.indexOf("=");
  return at < 0 ? { name: undefined, what: text } : { name: text.slice(0, at), what: text.slice(at + 1) };
});
const count = (least: number) => z.coerce.number().int().min(least);

/** Flags of `retrograde-rl serve --tinker`. */
const flagsSchema = z.object({
  tinker: z.boolean().default(false),
  model: z.array(named).default([]),
  import: z.array(named).default([]),
  host: z.string().default("127.0.0.1"),
  port: count(0).max(65_535).default(8765),
  key: z.array(z.string().min(1)).default([]),
  store: z.string().default("tinker-store"),
  threads: count(1).default(availableParallelism()),
  maxModels: count(1).default(8),
  maxSamplers: count(1).default(8),
  maxQueue: count(1).default(1024),
  maxResults: count(1).default(defaultResultBytes / 2 ** 20),
  memory: z.coerce.number().positive().optional(),
  maxBody: count(1).default(64),
  maxConnections: count(1).default(httpDefaults.connections),
  requestTimeout: count(1).default(httpDefaults.requestMs / 1000),
  maxSessions: count(1).default(1024),
  sessionTimeout: count(1).default(300),
  verbose: z.boolean().default(false),
});

/** Environment variable of a key, which is not seen in the list of processes. */
export const keyVariable = "RETROGRADE_SERVER_KEY";

/** Serves until the process is interrupted. @returns the exit code */
export async function serveCommand(flags: ServeFlags, screen: Screen): Promise<number> {
  const server = await start(flags, screen);
  let stop = () => {};
  const interrupted = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const interrupt = listenForInterrupt(stop);
  await interrupted;
  await server.close();
  interrupt.release();
  return 0;
}

/** The flags that decide between the interfaces. Each interface checks its own flags. */
export interface ServeFlags {
  readonly tinker?: boolean;
  readonly inference?: boolean;
  readonly env?: string;
  readonly as?: string;
}

function start(flags: ServeFlags, screen: Screen): Promise<{ close(): Promise<void> }> {
  const { tinker, inference, env, as } = flags;
  const isEnvironment = env !== undefined || as !== undefined;
  if ([tinker, inference, isEnvironment].filter(Boolean).length > 1)
    throw new ConfigError("serve", "several interfaces", { expected: "one: --tinker, --inference, or --env NAME --as openenv" });
  if (inference) return startInference(flags, screen);
  if (!isEnvironment) return startServer(flags, screen);
  return startEnvironmentServer(flags, ownKeys(), screen);
}

/** The key of the environment variable, if there is one. */
function ownKeys(): string[] {
  const key = process.env[keyVariable];
  return key ? [key] : [];
}

/** Serves models in token ids. @throws as `startServer` */
export async function startInference(flags: unknown, screen: Screen): Promise<RunningInference> {
  const { model, host, port, key, threads, verbose, ...limits } = parsedFlags(flags);
  const models = await openModels(model.length === 0 ? [{ name: undefined, what: "default" }] : model, threads, screen);
  const opened = await Promise.all(
    models.map(async ({ name, folder, open }) => [name, (await open("full", undefined)).engine, folder] as const),
  );
  // The first sample makes an engine's sessions, and holds this thread meanwhile: clients come afterwards.
  for (const [, engine] of opened) await engine.sample({ context: [0], maxTokens: 1, stopTokens: [], seed: 0 });
  const server = await serveInference({
    ...{ host, port, keys: [...key, ...ownKeys()], limits: httpLimits(limits) },
    models: new Map(opened.map(([name, engine, folder]) => [name, engineModel(engine, chatOf(folder), folder)])),
    ...(verbose
      ? {
          log: (entry: { path: string; status: number; ms: number }) =>
            screen.line(`${entry.path} ${entry.status} ${entry.ms.toFixed(0)} ms`),
        }
      : {}),
  });
  screen.line(`Inference server at ${server.baseUrl}: chat completions at ${server.baseUrl}/v1`);
  for (const { name, folder } of models) screen.line(`  model ${name}${name === folder ? "" : ` (${folder})`}`);
  return {
    ...server,
    close: async () => {
      await server.close();
      await Promise.all(opened.map(([, engine]) => engine.dispose()));
    },
  };
}

function httpLimits({
  maxBody,
  maxConnections,
  requestTimeout,
}: Pick<z.output<typeof flagsSchema>, "maxBody" | "maxConnections" | "requestTimeout">): HttpLimits {
  return { maxBytes: maxBody * 2 ** 20, connections: maxConnections, requestMs: requestTimeout * 1000 };
}

/** The chat side of a model folder; undefined for base models, which have no template. */
function chatOf(folder: string): Chat | undefined {
  const tokenizer = loadTokenizer(folder);
  return tokenizer.chatTemplate === undefined ? undefined : makeChat(tokenizer);
}

/** @throws ConfigError naming the flag that is wrong */
function parsedFlags(flags: unknown): z.output<typeof flagsSchema> {
  const parsed = flagsSchema.safeParse(flags);
  if (parsed.success) return parsed.data;
  const [{ path, message } = { path: [], message: "another value" }] = parsed.error.issues;
  throw new ConfigError(`--${String(path[0]).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, undefined, {
    expected: message,
  });
}

/** @throws ConfigError for flags, models or folders that do not exist */
export async function startServer(flags: unknown, screen: Screen): Promise<RunningServer> {
  const { tinker, model, port, host, key, store, threads, verbose, ...limits } = parsedFlags(flags);
  if (!tinker)
    throw new ConfigError("serve", "nothing", {
      expected: ["--tinker", "--inference", "--env"],
      hint: "Say what is served: serve --tinker, or serve --env office --as openenv.",
    });
  const models = await openModels(model.length === 0 ? [{ name: undefined, what: "default" }] : model, threads, screen);
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

interface Named {
  readonly name: string | undefined;
  readonly what: string;
}

async function openModels(wanted: readonly Named[], threads: number, screen: Screen): Promise<ServedModel[]> {
  const models: ServedModel[] = [];
  for (const { name, what } of wanted) {
    const choice = { model: what, environment: { name: "office" } };
    const folder = await showDownload(what, screen, (onDownload) => modelFolder(choice, onDownload));
    const shown = name ?? (what === "default" ? basename(folder) : what);
    if (models.some((each) => each.name === shown)) throw new ConfigError("--model", shown, { expected: "each name once" });
    models.push(await serveModel(shown, folder, threads));
  }
  return models;
}

function importOf({ name, what }: Named): [string, string] {
  if (!existsSync(what))
    throw new ConfigError("--import", what, { expected: "NAME=FOLDER, a folder in PEFT's or Hugging Face's format" });
  const shown = name ?? basename(resolve(what));
  if (!/^[a-zA-Z0-9_-]+$/.test(shown))
    throw new ConfigError("--import", shown, { expected: "a name of letters, digits, - and _" });
  return [shown, resolve(what)];
}
