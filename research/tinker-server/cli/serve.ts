import { resolve } from "node:path";
import { z } from "zod";
import { parsedFlags } from "../../../extensions/serve/cli/flags.ts";
import { namedModels, serverFlags, untilInterrupted } from "../../../extensions/serve/cli/serve.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { type ServedModel, serveModel } from "../local-model.ts";
import { type RunningServer, startTinkerServer } from "../server.ts";

const { model, port, threads } = serverFlags;
const flagsSchema = z.object({ model, port, threads, store: z.string().default("tinker-store") });

/** Serves until the process is interrupted. @returns the exit code */
export async function serveTinkerCommand(flags: unknown, screen: Screen): Promise<number> {
  return untilInterrupted(await startServer(flags, screen));
}

/** @throws ConfigError for flags, models or folders that do not exist */
export async function startServer(flags: unknown, screen: Screen): Promise<RunningServer> {
  const { model, port, threads, store } = parsedFlags(flagsSchema, flags);
  const models: ServedModel[] = [];
  for (const { name, folder } of await namedModels(model, screen)) models.push(await serveModel(name, folder, threads));
  const server = await startTinkerServer({ models, port, store: resolve(store) });
  screen.line(`Tinker server at ${server.baseUrl}`);
  for (const { name, folder } of models) screen.line(`  base model ${name}${name === folder ? "" : ` (${folder})`}`);
  screen.line(`  TINKER_BASE_URL=${server.baseUrl} TINKER_API_KEY=tml-local python train.py`);
  return server;
}
