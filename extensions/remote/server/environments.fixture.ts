import { afterEach, expect } from "vitest";
import type { CallAnswer, Episode } from "../../../src/environments/environment.ts";
import { createEnvironment } from "../../../src/environments/registry.ts";
import { closed, counting } from "../../../test/environments/counting.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { serveOpenenv } from "./openenv.ts";
import { serveOrs } from "./ors.ts";
import type { EnvironmentServerOptions, RunningEnvironmentServer } from "./settings.ts";
import "../../../research/install.ts";

export let server: RunningEnvironmentServer | undefined;
/** Closes a server with the test. */
export function keep<T extends RunningEnvironmentServer | undefined>(running: T): T {
  server = running;
  return running;
}
afterEach(async () => {
  await server?.close();
  server = undefined;
  closed.length = 0;
});

export const servers = { openenv: serveOpenenv, ors: serveOrs };
export type Wire = keyof typeof servers;

export async function serve(wire: Wire, change: Partial<EnvironmentServerOptions> = {}): Promise<string> {
  server = await servers[wire]({
    ...{ environment: counting(), host: "127.0.0.1", port: 0, keys: [], sessions: 256, sessionMs: 60_000, maxBytes: 2 ** 20 },
    ...{ seed: 3, episodeTimeoutMs: 5000, maxTurns: 20 },
    ...change,
  });
  return `${wire}:${server.baseUrl}`;
}

export async function start(name: string, settings: object = {}, split = "train", index = 0): Promise<Episode> {
  const environment = createEnvironment(name, settings);
  await environment.open?.();
  return environment.start(await environment.task(split, index), 0);
}

export const { signal } = new AbortController();
export const call = (episode: Episode, name: string, args: object) =>
  episode.call?.({ name, arguments: args as Record<string, unknown> }, { signal }) as Promise<CallAnswer | undefined>;

export const problem = async (work: unknown) => {
  const error = await Promise.resolve(work).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RemoteEnvError);
  return (error as RemoteEnvError).problem;
};

export const both: Wire[] = ["openenv", "ors"];
