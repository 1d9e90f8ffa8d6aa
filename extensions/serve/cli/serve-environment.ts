import { z } from "zod";
import { serveEnvironmentFlags, settingsOf } from "../../../src/cli/settings.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { environmentOf } from "../../../src/sdk/run-environment.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { loadConfigFile } from "../../../src/training/config/config-file.ts";
import { httpDefaults } from "../../http/server.ts";
import { environmentWires, serveEnvironment, serverDefaults } from "../../remote/server/serve-environment.ts";
import type { RunningEnvironmentServer } from "../../remote/server/settings.ts";
import { count, httpLimits, keysOf, listeningFlags, parsedFlags } from "./flags.ts";

/** Flags of `retrograde-rl serve --env`, checked. The rest belongs to settings. */
const flagsSchema = z.looseObject({
  as: z.string().optional(),
  config: z.string().optional(),
  ...listeningFlags(serverDefaults.port, httpDefaults.maxBytes / 2 ** 20),
  maxSessions: count(1).default(serverDefaults.sessions),
  sessionTimeout: count(1).default(serverDefaults.sessionMs / 1000),
});

/**
 * Serves an environment, a configuration file's own included, to clients of another protocol.
 * @throws ConfigError for a wire or an environment that does not exist
 */
export async function startEnvironmentServer(flags: unknown, screen: Screen): Promise<RunningEnvironmentServer> {
  const given = parsedFlags(flagsSchema, flags);
  const { as, host, port, maxSessions, sessionTimeout } = given;
  const wire = environmentWires.find((name) => name === as);
  if (wire === undefined)
    throw new ConfigError("--as", as, {
      expected: environmentWires,
      hint: "Say how it is served: serve --env office --as openenv.",
    });
  const user = await loadConfigFile(given.config);
  const config = resolveConfig(user, settingsOf(serveEnvironmentFlags, given as Parameters<typeof settingsOf>[1]));
  const environment = environmentOf(config, user);
  const server = await serveEnvironment({
    ...{ environment, as: wire, host, port, keys: keysOf(given), ...httpLimits(given) },
    ...{ sessions: maxSessions, sessionMs: sessionTimeout * 1000, seed: config.seed },
    episodeTimeoutMs: config.rollout.episodeTimeoutMs,
    maxTurns: config.rollout.maxTurns,
  });
  const shown = wire === "openenv" ? server.baseUrl.replace(/^http/, "ws") : server.baseUrl;
  screen.line(`Environment ${environment.name} at ${server.baseUrl} (${wire}, up to ${maxSessions} sessions)`);
  screen.line(`  here: --env ${wire}:${shown}`);
  return server;
}
