import { modelFolder, openModel, samplingUse } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { engineModel } from "../inference/engine-model.ts";
import type { InferenceModel } from "../inference/model.ts";
import { newKey, serveByKey } from "./keys.ts";

/** Settings of a model of this machine that is served to an agent. */
export interface ServedModelOptions {
  /** As in a configuration: device, threads and the rest. */
  readonly engine?: UserConfig["engine"];
  /** Temperature of every answer, whatever the agent asks for. 0 always takes the most probable token. Default: as the agent asks, or 1. */
  readonly temperature?: number;
  /** Decides the draws of sampled answers: the same seed gives the same results. Default 1. */
  readonly seed?: number;
}

/**
 * Serves a model of this machine to agents, under any name that they ask for.
 * @throws ConfigError, ModelError or EngineError if there is no such model
 */
export async function serveToAgents(
  model: string,
  options: ServedModelOptions = {},
): Promise<AgentEndpoint & { close(): Promise<void> }> {
  const { temperature, seed } = options;
  const agents = { model, environment: { name: "agent" } };
  const config = resolveConfig({ ...agents, seed, engine: options.engine, evaluation: { temperature } });
  const { engine, chat } = config;
  const use = samplingUse(config);
  const folder = await modelFolder({ ...agents, engine }, undefined, use);
  const opened = await openModel(folder, engine, { use, seed: config.seed }, chat);
  const apiKey = newKey();
  const served = engineModel(opened.engine, opened.chat, undefined, config.seed);
  const byKey = new Map([[apiKey, temperature === undefined ? served : atTemperature(served, temperature)]]);
  const server = await serveByKey(byKey);
  const close = async () => {
    await server.close();
    await opened.engine.dispose();
  };
  return { baseUrl: `${server.baseUrl}/v1`, apiKey, close };
}

/** The model at one temperature, whatever is asked for. */
export function atTemperature(model: InferenceModel, temperature: number): InferenceModel {
  const { chat } = model;
  return {
    ...model,
    sample: (request, signal) => model.sample({ ...request, temperature }, signal),
    ...(chat && {
      chat: {
        ...chat,
        converse: (request, options) => chat.converse(request, { ...options, sampling: { ...options.sampling, temperature } }),
      },
    }),
  };
}

/** An address of the OpenAI interface: `retrograde-rl serve --inference`, another server, or the vendor. */
export interface AgentEndpoint {
  /** With `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The model's name there. */
  readonly name?: string;
}
