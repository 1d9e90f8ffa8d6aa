import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { z } from "zod";
import { type Chat, makeChat } from "../../../src/chat/chat.ts";
import { loadTokenizer } from "../../../src/chat/tokenizer-folder.ts";
import { showDownload } from "../../../src/cli/download.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { TokenId } from "../../../src/core/trajectory.ts";
import { modelFolder } from "../../../src/sdk/model.ts";
import { listenForInterrupt } from "../../../src/terminal/interrupt.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { type HttpLimits, httpDefaults } from "../../http/server.ts";
import { engineModel } from "../../inference/engine-model.ts";
import { type RunningInference, serveInference } from "../../inference/server.ts";
import { createLocalEngine } from "../../local/engine.ts";
import { parsedFlags, startEnvironmentServer } from "./serve-environment.ts";

/** NAME=WHAT, or WHAT alone. */
export const named = z.string().transform((text) => {
  const at = text.indexOf("=");
  return at < 0 ? { name: undefined, what: text } : { name: text.slice(0, at), what: text.slice(at + 1) };
});
export const count = (least: number) => z.coerce.number().int().min(least);

/** Flags of every server of models. */
export const serverFlags = {
  model: z.array(named).default([]),
  host: z.string().default("127.0.0.1"),
  port: count(0).max(65_535).default(8765),
  key: z.array(z.string().min(1)).default([]),
  threads: count(1).default(availableParallelism()),
  maxBody: count(1).default(64),
  maxConnections: count(1).default(httpDefaults.connections),
  requestTimeout: count(1).default(httpDefaults.requestMs / 1000),
  verbose: z.boolean().default(false),
};

/** Actions that are sampled at a time. */
export const assumedConcurrency = 32;

/** Environment variable of a key, which is not seen in the list of processes. */
export const keyVariable = "RETROGRADE_SERVER_KEY";

/** Serves until the process is interrupted. @returns the exit code */
export async function serveCommand(flags: ServeFlags, screen: Screen): Promise<number> {
  return untilInterrupted(await start(flags, screen));
}

/** Leaves a server open until the process is interrupted. @returns the exit code */
export async function untilInterrupted(server: { close(): Promise<void> }): Promise<number> {
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
  readonly inference?: boolean;
  readonly env?: string;
  readonly as?: string;
}

function start(flags: ServeFlags, screen: Screen): Promise<{ close(): Promise<void> }> {
  const { inference, env, as } = flags;
  const isEnvironment = env !== undefined || as !== undefined;
  if (inference && isEnvironment)
    throw new ConfigError("serve", "several interfaces", { expected: "one: --inference, or --env NAME --as openenv" });
  if (inference) return startInference(flags, screen);
  if (isEnvironment) return startEnvironmentServer(flags, ownKeys(), screen);
  throw new ConfigError("serve", "nothing", {
    expected: ["--inference", "--env"],
    hint: "Say what is served: serve --inference, or serve --env office --as openenv.",
  });
}

/** The key of the environment variable, if there is one. */
export function ownKeys(): string[] {
  const key = process.env[keyVariable];
  return key ? [key] : [];
}

/** Serves models in messages and in token ids. @throws ConfigError for flags or models that do not exist */
export async function startInference(flags: unknown, screen: Screen): Promise<RunningInference> {
  const { model, host, port, key, threads, verbose, ...limits } = parsedFlags(z.object(serverFlags), flags);
  const opened = await Promise.all(
    (await namedModels(model, screen)).map(async ({ name, folder }) => {
      const decode = decoderOf(folder);
      const engine = await createLocalEngine({ model: folder, threads, slots: assumedConcurrency, decode });
      return [name, engine, folder] as const;
    }),
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
  for (const [name, , folder] of opened) screen.line(`  model ${name}${name === folder ? "" : ` (${folder})`}`);
  return {
    ...server,
    close: async () => {
      await server.close();
      await Promise.all(opened.map(([, engine]) => engine.dispose()));
    },
  };
}

export function httpLimits({
  maxBody,
  maxConnections,
  requestTimeout,
}: {
  readonly maxBody: number;
  readonly maxConnections: number;
  readonly requestTimeout: number;
}): HttpLimits {
  return { maxBytes: maxBody * 2 ** 20, connections: maxConnections, requestMs: requestTimeout * 1000 };
}

/** The chat side of a model folder; undefined for base models, which have no template. */
function chatOf(folder: string): Chat | undefined {
  const tokenizer = loadTokenizer(folder);
  return tokenizer.chatTemplate === undefined ? undefined : makeChat(tokenizer);
}

function decoderOf(folder: string) {
  const tokenizer = loadTokenizer(folder);
  return (tokens: readonly TokenId[]) => tokenizer.decode(tokens);
}

/** Folders of models with the names that clients use, downloaded where they must be. @throws ConfigError for a name that is there twice */
export async function namedModels(
  wanted: readonly z.output<typeof named>[],
  screen: Screen,
): Promise<{ readonly name: string; readonly folder: string }[]> {
  const models: { readonly name: string; readonly folder: string }[] = [];
  for (const { name, what } of wanted.length === 0 ? [{ name: undefined, what: "default" }] : wanted) {
    const choice = { model: what, environment: { name: "office" } };
    const folder = await showDownload(what, screen, (onDownload) => modelFolder(choice, onDownload));
    const shown = name ?? (what === "default" ? basename(folder) : what);
    if (models.some((each) => each.name === shown)) throw new ConfigError("--model", shown, { expected: "each name once" });
    models.push({ name: shown, folder });
  }
  return models;
}
