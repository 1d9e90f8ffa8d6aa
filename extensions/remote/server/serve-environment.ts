import { withinTime } from "../../../src/core/deadline.ts";
import { optionsDoor } from "../../../src/core/door.ts";
import { ConfigError, EnvError } from "../../../src/core/errors.ts";
import { boundedEnvironment } from "../../../src/environments/bounded.ts";
import type { Environment } from "../../../src/environments/environment.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { serveOpenenv } from "./openenv.ts";
import { serveOrs } from "./ors.ts";
import type { EnvironmentServerOptions, RunningEnvironmentServer } from "./settings.ts";

/** Longest that open episodes are waited for at the end. */
const closeMs = 2000;

const wires = { openenv: serveOpenenv, ors: serveOrs };

/** The protocols that an environment can be served in: OpenEnv 0.10, and the Open Reward Standard. */
export type EnvironmentWire = keyof typeof wires;

export const environmentWires = Object.keys(wires) as EnvironmentWire[];

/** The limits of a server that says nothing else. Those of episodes, and the seed, are a configuration's. */
export const serverDefaults = {
  host: "127.0.0.1",
  port: 8766,
  sessions: 256,
  sessionMs: 900_000,
} as const satisfies Partial<EnvironmentServerOptions>;

/** An environment, its protocol, and what differs from the defaults of `retrograde-rl serve --env`. */
export interface ServeEnvironmentOptions extends Partial<Omit<EnvironmentServerOptions, "environment">> {
  readonly environment: Environment;
  readonly as: EnvironmentWire;
}

const checkOptions = optionsDoor<ServeEnvironmentOptions>("serveEnvironment", {
  ...{ environment: true, as: true, host: true, port: true, keys: true, sessions: true, sessionMs: true, seed: true },
  ...{ episodeTimeoutMs: true, maxTurns: true, signal: true, connections: true, requestMs: true, maxBytes: true },
});

/**
 * Serves an environment of yours to clients of another protocol, such as Python trainers. It is opened before and closed after.
 * @throws ConfigError if there is no such option or protocol, the port is taken, or other machines reach the server without a key
 * @example
 * const environment = defineEnvironment({
 *   name: "capitals",
 *   tasks: { train: [{ prompt: "The capital of France?", answer: "Paris" }] },
 *   start: ({ answer }) => ({ tools: [], reward: ({ response }) => (response.includes(answer) ? 1 : 0) }),
 * });
 * const server = await serveEnvironment({ environment, as: "openenv", port: 0 });
 * console.log(server.baseUrl);
 * await server.close();
 */
export async function serveEnvironment(given: ServeEnvironmentOptions): Promise<RunningEnvironmentServer> {
  checkOptions({ ...given });
  const { environment, as, ...options } = given;
  if (!Object.hasOwn(wires, as)) throw new ConfigError("as", as, { expected: environmentWires });
  const { seed, rollout } = resolveConfig({});
  const { episodeTimeoutMs, maxTurns } = rollout;
  const settings = { ...serverDefaults, keys: [], seed, episodeTimeoutMs, maxTurns, ...options };
  const sessions = Math.min(settings.sessions, environment.concurrency ?? settings.sessions);
  const closing = new AbortController();
  const { signal } = closing;
  const bounded = boundedEnvironment(environment, { timeoutMs: settings.episodeTimeoutMs, signal });
  await bounded.open?.();
  const server = await wires[as]({ ...settings, environment: bounded, sessions, signal }).catch(async (error: unknown) => {
    await bounded.close?.();
    throw error;
  });
  const close = async () => {
    closing.abort(new EnvError(environment.name, "closing", { expected: "a server that is open" }));
    // An episode may not end either.
    await withinTime(() => server.close(), closeMs).catch(() => {});
    await bounded.close?.();
  };
  return { ...server, close };
}
