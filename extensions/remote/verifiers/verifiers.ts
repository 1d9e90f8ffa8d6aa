import { randomBytes } from "node:crypto";
import type { z } from "zod";
import { EnvError } from "../../../src/core/errors.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import type { Environment, Task } from "../../../src/environments/environment.ts";
import type { InferenceModel } from "../../inference/model.ts";
import { type RunningInference, serveInference } from "../../inference/server.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { type Row, readRows } from "../shared/rows.ts";
import { VerifiersClient } from "./client.ts";
import { inferenceModel } from "./policy.ts";
import { verifiersSettingsSchema } from "./settings.ts";
import { Assembly, conversationOf, headSchema, rewardOf, scoresOf, type Trace } from "./trace.ts";

interface VerifiersTask extends Task {
  readonly data: Row;
}

/**
 * An environment server of verifiers. It holds the conversation and renders it; actions are sampled here, because it asks this process
 * for them in token ids. Every token that is trained is one that the environment's program saw.
 * @param name it is recorded under, such as `verifiers:tcp://127.0.0.1:5000`
 * @throws ConfigError for wrong settings, and files of tasks that cannot be read
 */
export function verifiersEnvironment(name: string, address: string, userSettings: unknown): Environment<VerifiersTask> {
  const settings = parseSettings(verifiersSettingsSchema, userSettings, "environment.settings");
  const { concurrency, connectTimeoutMs, maxAnswer, rolloutTimeoutMs, tokenizer, renderer, host, listen, port } = settings;
  const tasks = readRows(settings.tasks);
  const client = new VerifiersClient({ address, connectTimeoutMs, maxBytes: maxAnswer * 2 ** 20 });
  /** Episodes that are played, by the name of the model that their program asks for. */
  const models = new Map<string, InferenceModel>();
  const key = randomBytes(24).toString("base64url");
  let inference: RunningInference | undefined;
  let count = 0;
  /** The environment's own name, as the first episode says it. */
  let own: string | undefined;
  return {
    name,
    splits: [...tasks.keys()],
    ...(concurrency === undefined ? {} : { concurrency }),
    open: async () => {
      await client.health(connectTimeoutMs);
      inference = await serveInference({ ...{ host: listen, port, keys: [key], models }, limits: { maxBytes: 2 ** 26 } });
    },
    close: async () => {
      await client.close();
      await inference?.close();
      inference = undefined;
    },
    size: (split) => tasks.get(split)?.length ?? 0,
    task: (split, index) => {
      const data = tasks.get(split)?.[index] ?? {};
      const { name: kind } = data;
      return { id: `${split}/${index}`, ...(typeof kind === "string" && kind !== "" ? { kind } : {}), data };
    },
    start: () => {
      throw new EnvError(`an episode of "${name}"`, "started by hand", {
        expected: "a rollout: the environment's own program holds the conversation",
        hint: "Use it with train and eval. Branching, env check and chat need an environment that answers actions.",
      });
    },
    play: async ({ data }, policy) => {
      if (inference === undefined) throw new EnvError(`"${name}"`, "not open", { expected: "open() before the first episode" });
      const model = `policy-${count++}`;
      models.set(model, inferenceModel(policy, data.prompt));
      const assembly = new Assembly();
      const baseUrl = new URL(inference.baseUrl);
      baseUrl.hostname = host;
      const run = {
        task_data: data,
        client: {
          type: "train",
          base_url: `${baseUrl.origin}/v1`,
          api_key_var: "RETROGRADE_NO_KEY",
          headers: { "X-API-Key": key },
          renderer_model_name: tokenizer,
          ...(renderer === undefined ? {} : { renderer: { name: renderer } }),
        },
        model,
        sampling: {
          ...{ temperature: policy.temperature, top_p: policy.topP, max_tokens: policy.maxTokens },
          ...(policy.topK > 0 ? { top_k: policy.topK } : {}),
        },
      };
      const onDelta = (delta: unknown) => assembly.apply(delta);
      try {
        const reply = await client.request("run", run, { timeoutMs: rolloutTimeoutMs, signal: policy.signal, onDelta });
        const head = headSchema.parse(reply);
        const { trace, reward } = rewardedTrace(head, assembly, address);
        const id = head.head?.env?.id;
        own ??= id;
        if (id !== own)
          throw new RemoteEnvError("malformed", `env.id of the rollout at ${address}`, id, {
            expected: `${own}, as in the episodes before; the server is of version ${trace.verifiers ?? "unknown"}`,
          });
        return { messages: conversationOf(trace), score: { reward, scores: scoresOf(trace) } };
      } finally {
        models.delete(model);
      }
    },
  };
}

/** @throws RemoteEnvError where the rollout failed there, or has no reward */
function rewardedTrace(head: z.output<typeof headSchema>, assembly: Assembly, address: string): { trace: Trace; reward: number } {
  const [trace, ...others] = assembly.finish(head);
  const [error] = [...(head.head?.errors ?? []), ...(trace?.errors ?? [])];
  if (trace === undefined || others.length > 0 || trace.scalars.ok !== true)
    throw new RemoteEnvError(
      "refused",
      `the rollout at ${address}`,
      error === undefined ? `${others.length + Number(trace !== undefined)} traces` : `${error.type}: ${error.message}`,
      { expected: "one trace that is ok: of several agents none is this policy alone" },
    );
  const reward = rewardOf(trace);
  if (reward !== undefined) return { trace, reward };
  throw new RemoteEnvError("malformed", `rewards of the rollout at ${address}`, trace.scalars.rewards, {
    expected: `rewards that were computed, as verifiers 0.4 writes them; the server is of version ${trace.verifiers ?? "unknown"}`,
  });
}
