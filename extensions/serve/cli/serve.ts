import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { z } from "zod";
import { makeChat } from "../../../src/chat/chat.ts";
import { loadTokenizer } from "../../../src/chat/tokenizer-folder.ts";
import { showDownload } from "../../../src/cli/download.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { TokenId } from "../../../src/core/trajectory.ts";
import { modelFolder } from "../../../src/sdk/model.ts";
import { listenForInterrupt } from "../../../src/terminal/interrupt.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { engineModel } from "../../inference/engine-model.ts";
import { type RunningInference, serveInference } from "../../inference/server.ts";
import { createLocalEngine } from "../../local/engine.ts";
import { count, httpLimits, keysOf, listeningFlags, parsedFlags } from "./flags.ts";
import { startEnvironmentServer } from "./serve-environment.ts";

/** NAME=WHAT, or WHAT alone. */
export const named = z.string().transform((text) => {
  const at = text.indexOf("=");
  return at < 0 ? { name: undefined, what: text } : { name: text.slice(0, at), what: text.slice(at + 1) };
});

/** Flags of every server of models. */
export const serverFlags = {
  model: z.array(named).default([]),
  ...listeningFlags(8765, 64),
  threads: count(1).default(availableParallelism()),
  verbose: z.boolean().default(false),
};

/** Actions that are sampled at a time. */
export const assumedConcurrency = 32;

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
  if (isEnvironment) return startEnvironmentServer(flags, screen);
  throw new ConfigError("serve", "nothing", {
    expected: ["--inference", "--env"],
    hint: "Say what is served: serve --inference, or serve --env office --as openenv.",
  });
}

/** Serves models in messages and in token ids. @throws ConfigError for flags or models that do not exist */
export async function startInference(flags: unknown, screen: Screen): Promise<RunningInference> {
  const given = parsedFlags(z.object(serverFlags), flags);
  const { model, host, port, threads, verbose } = given;
  const opened = await Promise.all(
    (await namedModels(model, screen)).map(async ({ name, folder }) => {
      const tokenizer = loadTokenizer(folder);
      const decode = (tokens: readonly TokenId[]) => tokenizer.decode(tokens);
      const engine = await createLocalEngine({ model: folder, threads, slots: assumedConcurrency, decode });
      // Base models have no template.
      const chat = tokenizer.chatTemplate === undefined ? undefined : makeChat(tokenizer);
      return { name, engine, folder, chat };
    }),
  );
  // The first sample makes an engine's sessions, and holds this thread meanwhile: clients come afterwards.
  for (const { engine } of opened) await engine.sample({ context: [0], maxTokens: 1, stopTokens: [], seed: 0 });
  const server = await serveInference({
    ...{ host, port, keys: keysOf(given), limits: httpLimits(given) },
    models: new Map(opened.map(({ name, engine, folder, chat }) => [name, engineModel(engine, chat, folder)])),
    ...(verbose
      ? {
          log: (entry: { path: string; status: number; ms: number }) =>
            screen.line(`${entry.path} ${entry.status} ${entry.ms.toFixed(0)} ms`),
        }
      : {}),
  });
  screen.line(`Inference server at ${server.baseUrl}: chat completions at ${server.baseUrl}/v1`);
  for (const { name, folder } of opened) screen.line(`  model ${name}${name === folder ? "" : ` (${folder})`}`);
  return {
    ...server,
    close: async () => {
      await server.close();
      await Promise.all(opened.map(({ engine }) => engine.dispose()));
    },
  };
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
