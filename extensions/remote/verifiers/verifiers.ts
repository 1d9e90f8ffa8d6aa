import { randomBytes } from "node:crypto";
import type { z } from "zod";
import { EnvError } from "../../../src/core/errors.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import type { Environment, Played, Split, Task, TokenPolicy } from "../../../src/environments/environment.ts";
import type { InferenceModel } from "../../inference/model.ts";
import type { RunningInference } from "../../inference/server.ts";
import { serveInference } from "../../inference/server.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { type Row, readRows } from "../shared/rows.ts";
import { VerifiersClient } from "./client.ts";
import { inferenceModel } from "./policy.ts";
import { type VerifiersSettings, verifiersSettingsSchema } from "./settings.ts";
import { Assembly, conversationOf, headSchema, rewardOf, scoresOf } from "./trace.ts";

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
  return new VerifiersEnvironment(name, address, parseSettings(verifiersSettingsSchema, userSettings, "environment.settings"));
}

class VerifiersEnvironment implements Environment<VerifiersTask> {
  readonly name: string;
  readonly splits: readonly Split[];
  readonly concurrency?: number;
  readonly #settings: VerifiersSettings;
  readonly #client: VerifiersClient;
  readonly #address: string;
  readonly #tasks: ReadonlyMap<Split, readonly Row[]>;
  /** Episodes that are played, by the name of the model that their program asks for. */
  readonly #models = new Map<string, InferenceModel>();
  readonly #key = randomBytes(24).toString("base64url");
  #inference: RunningInference | undefined;
  #count = 0;
  /** The environment's own name, as the first episode says it. */
  #id: string | undefined;

  constructor(name: string, address: string, settings: VerifiersSettings) {
    this.name = name;
    this.#address = address;
    this.#settings = settings;
    if (settings.concurrency !== undefined) this.concurrency = settings.concurrency;
    this.#tasks = readRows(settings.tasks);
    this.splits = [...this.#tasks.keys()];
    const { connectTimeoutMs, maxAnswer } = settings;
    this.#client = new VerifiersClient({ address, connectTimeoutMs, maxBytes: maxAnswer * 2 ** 20 });
  }

  async open(): Promise<void> {
    const { connectTimeoutMs, listen, port } = this.#settings;
    await this.#client.health(connectTimeoutMs);
    this.#inference = await serveInference({
      ...{ host: listen, port, keys: [this.#key], models: this.#models },
      limits: { maxBytes: 2 ** 26 },
    });
  }

  async close(): Promise<void> {
    await this.#client.close();
    await this.#inference?.close();
    this.#inference = undefined;
  }

  size(split: Split): number {
    return this.#tasks.get(split)?.length ?? 0;
  }

  task(split: Split, index: number): VerifiersTask {
    const data = this.#tasks.get(split)?.[index] ?? {};
    const { name } = data;
    return { id: `${split}/${index}`, ...(typeof name === "string" && name !== "" ? { kind: name } : {}), data };
  }

  start(): never {
    throw new EnvError(`an episode of "${this.name}"`, "started by hand", {
      expected: "a rollout: the environment's own program holds the conversation",
      hint: "Use it with train and eval. Branching, env check and chat need an environment that answers actions.",
    });
  }

  async play({ data }: VerifiersTask, policy: TokenPolicy): Promise<Played> {
    const { rolloutTimeoutMs, tokenizer, renderer, host } = this.#settings;
    if (this.#inference === undefined)
      throw new EnvError(`"${this.name}"`, "not open", { expected: "open() before the first episode" });
    const model = `policy-${this.#count++}`;
    this.#models.set(model, inferenceModel(policy, data.prompt));
    const assembly = new Assembly();
    const baseUrl = new URL(this.#inference.baseUrl);
    baseUrl.hostname = host;
    try {
      const reply = await this.#client.request(
        "run",
        {
          task_data: data,
          client: {
            type: "train",
            base_url: `${baseUrl.origin}/v1`,
            api_key_var: "RETROGRADE_NO_KEY",
            headers: { "X-API-Key": this.#key },
            renderer_model_name: tokenizer,
            ...(renderer === undefined ? {} : { renderer: { name: renderer } }),
          },
          model,
          sampling: {
            ...{ temperature: policy.temperature, top_p: policy.topP, max_tokens: policy.maxTokens },
            ...(policy.topK > 0 ? { top_k: policy.topK } : {}),
          },
        },
        { timeoutMs: rolloutTimeoutMs, signal: policy.signal, onDelta: (delta) => assembly.apply(delta) },
      );
      return this.#played(headSchema.parse(reply), assembly);
    } finally {
      this.#models.delete(model);
    }
  }

  /** @throws RemoteEnvError where the rollout failed there */
  #played(head: z.output<typeof headSchema>, assembly: Assembly): Played {
    const [trace, ...others] = assembly.finish(head);
    const [error] = [...(head.head?.errors ?? []), ...(trace?.errors ?? [])];
    if (trace === undefined || others.length > 0 || trace.scalars.ok !== true)
      throw new RemoteEnvError(
        "refused",
        `the rollout at ${this.#address}`,
        error === undefined ? `${others.length + Number(trace !== undefined)} traces` : `${error.type}: ${error.message}`,
        { expected: "one trace that is ok: of several agents none is this policy alone" },
      );
    const reward = rewardOf(trace);
    if (reward === undefined)
      throw new RemoteEnvError("malformed", `rewards of the rollout at ${this.#address}`, trace.scalars.rewards, {
        expected: `rewards that were computed, as verifiers 0.4 writes them; the server is of version ${trace.verifiers ?? "unknown"}`,
      });
    const id = head.head?.env?.id;
    this.#id ??= id;
    if (id !== this.#id)
      throw new RemoteEnvError("malformed", `env.id of the rollout at ${this.#address}`, id, {
        expected: `${this.#id}, as in the episodes before; the server is of version ${trace.verifiers ?? "unknown"}`,
      });
    return { messages: conversationOf(trace), score: { reward, scores: scoresOf(trace) } };
  }
}
