import type { z } from "zod";
import { readArchive } from "./archive.ts";
import { bulkFetch } from "./bulk.ts";
import type { ModelLimits } from "./check.ts";
import { TinkerError } from "./errors.ts";
import { parseResult, requestIdOf, retrieve } from "./future.ts";
import { Credential } from "./key.ts";
import { TinkerModel } from "./model.ts";
import { TinkerSampler } from "./sampler.ts";
import { type Connection, Heartbeat, limiter } from "./session.ts";
import { exchangePath, type TinkerLogEntry, Transport, type TransportStats } from "./transport.ts";
import {
  capabilitiesSchema,
  clientConfigSchema,
  createdModelSchema,
  sessionSchema,
  tokenSchema,
  weightsInfoSchema,
} from "./wire/json.ts";

export interface TinkerOptions {
  /** Such as "http://127.0.0.1:8765". Default: the environment's TINKER_BASE_URL. */
  readonly baseUrl?: string;
  /** Default: the environment's TINKER_API_KEY. It is sent in a header, and appears in no log and no error. */
  readonly apiKey?: string;
  /** Labels of the session, where the server shows them. */
  readonly tags?: readonly string[];
  /** Samples in flight at once. Default 64. */
  readonly inFlight?: number;
  /** Longest that one HTTP request may take. Default 120,000. */
  readonly requestTimeoutMs?: number;
  /** Longest that the result of a request may take. Default one hour. */
  readonly resultTimeoutMs?: number;
  /** Longest that a request is repeated while nothing answers. Default 60,000. */
  readonly patienceMs?: number;
  /** Longest that a request waits while the server says that it is busy. Default 600,000. */
  readonly busyPatienceMs?: number;
  /** Default 10,000. */
  readonly heartbeatMs?: number;
  /** Called for every HTTP request, without headers and bodies. */
  readonly log?: (entry: TinkerLogEntry) => void;
  /** Called with what the server says about its session and queues. */
  readonly onMessage?: (message: string) => void;
  /** Default: the platform's, but for samples and polls, which go over kept connections of Node's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** Spreads repeats in time. Default Math.random. */
  readonly random?: () => number;
}

export interface CreateModelOptions extends ModelLimits {
  readonly baseModel: string;
  /** The rank of the LoRA adapter. 0 trains the model itself, where a server can. */
  readonly rank: number;
  /** Decides the adapter's first values. */
  readonly seed?: number;
}

export interface ServedModel {
  readonly name: string;
  readonly maxLength: number | undefined;
}

export interface WeightsInfo {
  readonly baseModel: string;
  /** 0 for weights that are no adapter. */
  readonly rank: number;
}

/**
 * A session with a server of the Tinker interface: the hosted service, SkyRL or TuFT.
 * @example
 * const client = await TinkerClient.connect({ baseUrl: "http://127.0.0.1:8765" });
 * const model = await client.createModel({ baseModel: client.models[0].name, rank: 8 });
 */
export class TinkerClient {
  readonly baseUrl: string;
  readonly sessionId: string;
  readonly models: readonly ServedModel[];
  readonly #connection: Connection;
  readonly #heartbeat: Heartbeat;
  #modelCount = 0;

  private constructor(
    baseUrl: string,
    session: string,
    models: readonly ServedModel[],
    connection: Connection,
    heartbeatMs: number,
  ) {
    this.baseUrl = baseUrl;
    this.sessionId = session;
    this.models = models;
    this.#connection = connection;
    this.#heartbeat = new Heartbeat(connection.transport, session, heartbeatMs);
  }

  /**
   * Opens a session.
   * @throws TinkerError if nothing answers, the key is refused, or the server speaks an earlier protocol
   */
  static async connect(options: TinkerOptions = {}): Promise<TinkerClient> {
    const baseUrl = addressOf(options.baseUrl ?? process.env.TINKER_BASE_URL);
    const patienceMs = options.patienceMs ?? 60_000;
    const resultTimeoutMs = options.resultTimeoutMs ?? 3_600_000;
    const requestTimeoutMs = options.requestTimeoutMs ?? 120_000;
    const credential = new Credential(options.apiKey ?? process.env.TINKER_API_KEY);
    const transport = new Transport({
      baseUrl,
      credential,
      fetch: options.fetch ?? bulkFetch(),
      requestTimeoutMs,
      patienceMs,
      busyPatienceMs: options.busyPatienceMs ?? 600_000,
      log: options.log,
      random: options.random ?? Math.random,
    });
    await requireServer(transport, Math.min(3_000, patienceMs), Math.min(silenceMs, requestTimeoutMs));
    const config = await clientConfig(transport);
    if (config.pjwt_auth_enabled) credential.useTokens(() => token(transport));
    const models = await servedModels(transport);
    await requirePresentWire(transport);
    const said = (message: string | null | undefined) => message && options.onMessage?.(message);
    const body = { tags: options.tags ?? [], user_metadata: null, sdk_version: sdkVersion, type: "create_session" };
    const answer = await transport.send({ path: "create_session", body, repeatable: true });
    const { session_id, info_message, warning_message, error_message } = parseResult("create_session", answer, sessionSchema);
    for (const message of [info_message, warning_message, error_message]) said(message);
    const connection: Connection = {
      transport,
      chunks: { data: config.fwdbwd_max_chunk_len, bytes: config.fwdbwd_max_chunk_bytes_count },
      resultTimeoutMs,
      onQueue: options.onMessage && ((state) => state !== "active" && said(`the server's queue: ${state}`)),
      limit: limiter(options.inFlight ?? 64),
    };
    return new TinkerClient(baseUrl, session_id, models, connection, options.heartbeatMs ?? 10_000);
  }

  /** A new model, ready for its first pass. @throws TinkerError if the server has no place for it, or not such a base or rank */
  async createModel(options: CreateModelOptions): Promise<TinkerModel> {
    const { baseModel, rank, seed, ...limits } = options;
    if (this.#heartbeat.ended) throw this.#heartbeat.ended;
    if (!(Number.isInteger(rank) && rank >= 0))
      throw new TinkerError("rank", rank, { kind: "request", retry: "never", expected: "a whole number from 0" });
    const served = this.models.find(({ name }) => name === baseModel);
    if (served === undefined && this.models.length > 0) {
      const expected = this.models.map(({ name }) => name);
      throw new TinkerError("base model", baseModel, { kind: "not-found", retry: "never", expected });
    }
    const body = {
      session_id: this.sessionId,
      model_seq_id: this.#modelCount++,
      base_model: baseModel,
      lora_config: { rank, seed },
      type: "create_model",
    };
    const answer = await this.#connection.transport.send({ path: "create_model", body, repeatable: false });
    const of = "create_model";
    const result = await retrieve(this.#connection, requestIdOf(of, answer), { of, onFailure: "never" });
    const { model_id } = parseResult(of, result, createdModelSchema);
    return new TinkerModel(this.#connection, model_id, { maxLength: served?.maxLength, ...limits });
  }

  /** A new model that continues from a checkpoint, with its optimiser or without. */
  async loadModel(path: string, { optimizer, ...limits }: ModelLimits & { readonly optimizer: boolean }): Promise<TinkerModel> {
    const { baseModel, rank } = await this.weightsInfo(path);
    const model = await this.createModel({ baseModel, rank, ...limits });
    await model.loadWeights(path, { optimizer });
    return model;
  }

  /** Draws from a base model, which needs no saving. */
  baseSampler(baseModel: string, limits: ModelLimits = {}): TinkerSampler {
    return new TinkerSampler(this.#connection, { base_model: baseModel }, limits);
  }

  /** @throws TinkerError if the server has no such checkpoint */
  async weightsInfo(path: string): Promise<WeightsInfo> {
    const answer = await this.#connection.transport.send({ path: "weights_info", body: { tinker_path: path }, repeatable: true });
    const { base_model, is_lora, lora_rank } = parseResult("weights_info", answer, weightsInfoSchema);
    return { baseModel: base_model, rank: is_lora ? (lora_rank ?? 0) : 0 };
  }

  /** The files of weights that were saved for sampling: an adapter in PEFT format, or a model. */
  async downloadWeights(modelId: string, name: string): Promise<ReadonlyMap<string, Uint8Array>> {
    const path = `training_runs/${modelId}/checkpoints/${name}/archive`;
    const answer = await this.#connection.transport.send({ method: "GET", path, repeatable: true });
    return readArchive(answer.bytes);
  }

  /** Deletes a checkpoint by its path. One that is not there is no error. */
  async deleteWeights(path: string): Promise<void> {
    const [model, kind, name] = path.replace("tinker://", "").split("/");
    const route = `training_runs/${model}/checkpoints/${kind}/${name}`;
    await this.#connection.transport.send({ method: "DELETE", path: route, repeatable: true, expected: [404] });
  }

  /** HTTP requests and bytes since the last call. */
  takeStats(): TransportStats {
    return this.#connection.transport.takeStats();
  }

  /** Ends the heartbeat: the server then unloads the session's models by itself. Unload them first to free their places at once. */
  close(): void {
    this.#heartbeat.stop();
  }
}

/** The protocol's version that this client speaks, as servers record it. */
const sdkVersion = "0.38.0";

/** Longest that a server may be silent when it is asked whether it is there, in milliseconds: the answer costs it nothing. */
const silenceMs = 30_000;

/** A wrong address is found at once, a server that is just starting within seconds, one that never answers in 30. */
async function requireServer(transport: Transport, patienceMs: number, timeoutMs: number): Promise<void> {
  const limits = { patienceMs, timeoutMs };
  const answer = await transport.send({ method: "GET", path: "healthz", repeatable: true, expected: [404], ...limits });
  if (answer.status !== 404) return;
  const hint = "Something else answers there. Give the address without /api/v1.";
  throw new TinkerError("baseUrl", "no Tinker server", { kind: "address", retry: "never", status: 404, hint });
}

async function servedModels(transport: Transport): Promise<ServedModel[]> {
  const path = "get_server_capabilities";
  const answer = await transport.send({ method: "GET", path, repeatable: true });
  const { supported_models } = parseResult(path, answer, capabilitiesSchema);
  return supported_models.flatMap(({ model_name, max_context_length }) =>
    model_name ? [{ name: model_name, maxLength: max_context_length ?? undefined }] : [],
  );
}

/** Servers of the JSON protocol have the route `forward`, and answer 422 to an empty body. */
async function requirePresentWire(transport: Transport): Promise<void> {
  const answer = await transport.send({ path: "forward", body: {}, repeatable: true, expected: [400, 404, 405, 422] });
  if (answer.status !== 422) return;
  throw new TinkerError("the server's protocol", "that of JSON passes", {
    kind: "old-wire",
    retry: "never",
    expected: "binary passes",
    hint: "Upgrade the server: SkyRL needs version 0.4 or later.",
  });
}

async function clientConfig(transport: Transport): Promise<z.infer<typeof clientConfigSchema>> {
  const call = { path: "client/config", body: { sdk_version: sdkVersion }, repeatable: true, expected: [404] };
  const answer = await transport.send(call);
  return answer.status === 404 ? clientConfigSchema.parse({}) : parseResult(call.path, answer, clientConfigSchema);
}

/** Trades the key for a token that lives for minutes. */
async function token(transport: Transport): Promise<string> {
  const answer = await transport.send({ path: exchangePath, body: {}, repeatable: true });
  return parseResult(exchangePath, answer, tokenSchema).jwt;
}

function addressOf(baseUrl: string | undefined): string {
  const url = baseUrl === undefined ? undefined : URL.parse(baseUrl);
  if (url === undefined || url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new TinkerError("baseUrl", baseUrl, {
      kind: "address",
      retry: "never",
      expected: "an address such as http://127.0.0.1:8765",
      hint: "Give baseUrl, or set TINKER_BASE_URL.",
    });
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "").replace(/\/api\/v1$/, "");
}
