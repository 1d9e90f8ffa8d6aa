import { AsyncLocalStorage } from "node:async_hooks";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { environmentOfAgent } from "../environments/agent.ts";
import { agentModelName } from "../inference/server.ts";

/** An interception of this process's model calls. */
export interface Interception {
  /** Runs an episode: calls that it makes, and what it starts, have its key. */
  during<T>(key: string, run: () => Promise<T>): Promise<T>;
  /** Puts everything back. */
  end(): void;
}

/** A key of no episode: a call outside of one is refused. */
const noEpisode = "outside-of-an-episode";

/**
 * Sends the model calls of agents in this process to an endpoint, without a changed line in them. Clients that read their address from the
 * environment reach it by the customary variables, and string ids of the AI SDK by its global provider. The key of the running episode is put
 * into each request, through whatever the agent awaits. Clients must be made after this call.
 * @param name of the model, for agents that name theirs by a string
 */
export function interceptModels(baseUrl: string, name = agentModelName): Interception {
  const episode = new AsyncLocalStorage<string>();
  const env = { ...environmentOfAgent(baseUrl, noEpisode, name), OPENAI_AGENTS_DISABLE_TRACING: "1" };
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, env);

  const { fetch } = globalThis;
  const { origin } = new URL(baseUrl);
  globalThis.fetch = (input, init) => {
    const key = episode.getStore();
    const url = input instanceof Request ? input.url : String(input);
    if (key === undefined || !URL.canParse(url) || new URL(url).origin !== origin) return fetch(input, init);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
    headers.set("authorization", `Bearer ${key}`);
    for (const other of ["x-api-key", "x-goog-api-key"]) headers.delete(other);
    return fetch(input, { ...init, headers });
  };

  const shared = globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown };
  const provider = shared.AI_SDK_DEFAULT_PROVIDER;
  const models = createOpenAICompatible({
    name: "retrograde",
    baseURL: baseUrl,
    supportsStructuredOutputs: true,
    includeUsage: true,
  });
  shared.AI_SDK_DEFAULT_PROVIDER = { ...models, specificationVersion: "v3", languageModel: () => models(name) };
  return {
    during: (key, run) => episode.run(key, run),
    end: () => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      globalThis.fetch = fetch;
      if (provider === undefined) delete shared.AI_SDK_DEFAULT_PROVIDER;
      else shared.AI_SDK_DEFAULT_PROVIDER = provider;
    },
  };
}
