import { randomBytes } from "node:crypto";
import { modelFolder, openModel, samplingUse } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { engineModel } from "../inference/engine-model.ts";
import { serveInference } from "../inference/server.ts";

/**
 * Serves a model of this machine to agents, under any name that they ask for.
 * @throws ConfigError, ModelError or EngineError if there is no such model
 */
export async function serveToAgents(model: string): Promise<AgentEndpoint & { close(): Promise<void> }> {
  const config = resolveConfig({ model, environment: { name: "agent" } });
  const { engine, chat } = config;
  const use = samplingUse(config);
  const folder = await modelFolder({ model, environment: { name: "agent" }, engine }, undefined, use);
  const opened = await openModel(folder, engine, { use, seed: config.seed }, chat);
  const apiKey = `sk-${randomBytes(24).toString("base64url")}`;
  const byKey = new Map([[apiKey, engineModel(opened.engine, opened.chat)]]);
  const server = await serveInference({ host: "127.0.0.1", port: 0, keys: [apiKey], models: new Map(), byKey });
  const close = async () => {
    await server.close();
    await opened.engine.dispose();
  };
  return { baseUrl: `${server.baseUrl}/v1`, apiKey, close };
}

/** An address of the OpenAI interface: `retrograde-rl serve --inference`, another server, or the vendor. */
export interface AgentEndpoint {
  /** With `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The model's name there. */
  readonly name?: string;
}
