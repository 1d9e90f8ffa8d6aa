import { apiKeyFrom, keyHint } from "../core/api-key.ts";
import { ConfigError } from "../core/errors.ts";
import type { Environment } from "../environments/environment.ts";
import type { HubEvent } from "../hub/fetch.ts";
import type { Actor } from "../rollouts/actors/actor.ts";
import { endpointActor } from "../rollouts/actors/endpoint-actor.ts";
import { tokenActor } from "../rollouts/actors/token-actor.ts";
import type { PlayerSettings } from "../training/config/player.ts";
import type { TrainingConfig } from "../training/config/settings.ts";
import { checkShownTools } from "../training/config/shown-tools.ts";
import { type ActorIdentity, modelIdentity } from "../training/evaluation/folder.ts";
import { modelFolder, openModel, samplingUse } from "./model.ts";

/** Who plays an evaluation: a model of tokens, or a chat endpoint. */
export interface Player {
  /** For people. */
  readonly name: string;
  /** The identity of the actor that decides its actions. */
  readonly identity: ActorIdentity;
  /** Loads it. Called once. */
  open(environment: Environment): Promise<OpenPlayer>;
}

export interface OpenPlayer {
  readonly actor: Actor;
  /** The notices that a user should read. */
  readonly notices: readonly string[];
  dispose(): Promise<void>;
}

/**
 * Finds who plays under a configuration, and checks all that can be known before anything is loaded.
 * @param onDownload learns of a model that is downloaded
 * @throws ConfigError, ModelError or EngineError if there is no such model
 */
export async function findPlayer(
  config: TrainingConfig,
  env: Readonly<Record<string, string | undefined>>,
  download: (fetch: (onDownload: (event: HubEvent) => void) => Promise<string>) => Promise<string>,
): Promise<Player> {
  const { player } = config.evaluation;
  return player === undefined ? modelPlayer(config, download) : endpointPlayer(player, config, env);
}

async function modelPlayer(config: TrainingConfig, download: Parameters<typeof findPlayer>[2]): Promise<Player> {
  const use = samplingUse(config);
  const folder = await download((onDownload) => modelFolder(config, onDownload, use));
  return {
    name: folder,
    identity: { model: config.model, ...(await modelIdentity(folder)) },
    open: async (environment) => {
      const { engine: opened, chat, device } = await openModel(folder, config.engine, { use, seed: config.seed }, config.chat);
      try {
        const notice = await checkShownTools(chat, environment, config);
        const notices = [...(notice === undefined ? [] : [notice]), ...(device === "cpu" ? [] : [`Computing on ${device}`])];
        return { actor: tokenActor(opened, chat), notices, dispose: () => opened.dispose() };
      } catch (error) {
        await opened.dispose();
        throw error;
      }
    },
  };
}

function endpointPlayer(
  { apiKeyEnv, ...settings }: PlayerSettings,
  config: TrainingConfig,
  env: Readonly<Record<string, string | undefined>>,
): Player {
  const { baseUrl, maxTokensField, growing, request } = settings;
  const model = settings.model ?? config.model;
  if (settings.model === undefined && config.model === "default")
    throw new ConfigError("evaluation.player.model", undefined, {
      expected: `the name of a model at ${baseUrl}`,
      hint: "Name it with --model, or as evaluation.player.model.",
    });
  const apiKey = keyOf(baseUrl, apiKeyEnv, env);
  const actor = endpointActor({ ...settings, model, ...(apiKey === undefined ? {} : { apiKey }) });
  return {
    name: `${model} at ${baseUrl}`,
    identity: { model, endpoint: { baseUrl, maxTokensField, growing, request } },
    open: async () => ({ actor, notices: [], dispose: async () => {} }),
  };
}

/** The key is sent only to the server that it was named for. @throws ConfigError if there is none */
function keyOf(
  baseUrl: string,
  named: string | null | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const isOpenai = new URL(baseUrl).host === "api.openai.com";
  const variable = named === undefined && isOpenai ? "OPENAI_API_KEY" : named;
  if (variable === undefined || variable === null) return undefined;
  return apiKeyFrom(env, variable, baseUrl, keyHint("evaluation.player.apiKeyEnv"));
}
