import { z } from "zod";
import { reasonOf } from "../../../src/core/errors.ts";
import { splitWithTasks } from "../../../src/environments/environment.ts";
import { HostedEpisode, promptText, taskAt, toolList } from "./hosted.ts";
import {
  actionSchema,
  callObservation,
  failure,
  type Incoming,
  incomingSchema,
  observation,
  type Rpc,
  readRpc,
  resetSchema,
  rpcCallSchema,
  rpcError,
  rpcResult,
  toolResult,
} from "./openenv-wire.ts";
import type { EnvironmentServerOptions } from "./settings.ts";

/** One client's session: an episode at a time, made by `reset`. Requests are answered in their order. */
export class OpenenvServerSession {
  readonly id: string;
  readonly #options: EnvironmentServerOptions;
  #episode: HostedEpisode | undefined;
  #episodeId = "";
  #resets = 0;
  #queue: Promise<unknown> = Promise.resolve();
  /** When the client was last heard, in milliseconds of `performance.now()`. */
  heardAt = performance.now();

  constructor(id: string, options: EnvironmentServerOptions) {
    this.id = id;
    this.#options = options;
  }

  /** The answer to one message of a WebSocket. @returns undefined if the client ends the session */
  answer(text: string): Promise<object | undefined> {
    return this.#inTurn(async () => {
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch (error) {
        return failure("INVALID_JSON", `Invalid JSON: ${reasonOf(error)}`);
      }
      const type = (value as { type?: unknown } | null)?.type;
      if (!types.includes(type as Incoming["type"]))
        return failure("UNKNOWN_TYPE", `Unknown message type: ${String(type ?? "")}`);
      const parsed = incomingSchema.safeParse(value);
      if (!parsed.success) return invalid(parsed.error);
      return this.#handle(parsed.data).catch((error: unknown) => failure("EXECUTION_ERROR", reasonOf(error)));
    });
  }

  /** The answer to one JSON-RPC request of MCP. */
  rpc(rpc: Rpc): Promise<object> {
    return this.#inTurn(() => this.#rpc(rpc).catch((error: unknown) => rpcError(rpc, "internal", reasonOf(error))));
  }

  async close(): Promise<void> {
    await this.#inTurn(async () => this.#episode?.close());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.heardAt = performance.now();
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }

  async #handle(message: Incoming): Promise<object | undefined> {
    if (message.type === "close") return undefined;
    if (message.type === "reset") return this.#reset(message.data);
    if (message.type === "state") return { type: "state", data: this.state() };
    if (message.type === "mcp") {
      const read = readRpc(message.data);
      return { type: "mcp", data: "rpc" in read ? await this.#rpc(read.rpc) : read.refusal };
    }
    const action = actionSchema.safeParse(message.data);
    if (!action.success) return invalid(action.error);
    const episode = await this.#current();
    if (action.data.type === "list_tools") return observation({ tools: toolList(episode.tools) });
    const { tool_name: tool, arguments: args } = action.data;
    return callObservation(tool, await episode.call(tool, args));
  }

  state(): object {
    return { episode_id: this.#episodeId, step_count: this.#episode?.turns ?? 0 };
  }

  async #reset(data: Readonly<Record<string, unknown>>): Promise<object> {
    const parsed = resetSchema.safeParse(data);
    if (!parsed.success) return invalid(parsed.error);
    const { task, opening } = await this.#start(parsed.data);
    return observation({ metadata: { task, messages: opening }, prompt: promptText(opening) });
  }

  /** Starts an episode in place of the one before. The index, or else the seed, chooses the task. */
  async #start({ seed, episode_id: id, split: named, index: chosen }: z.output<typeof resetSchema>): Promise<HostedEpisode> {
    await this.#episode?.close();
    this.#episode = undefined;
    const { environment } = this.#options;
    const split = named ?? (await splitWithTasks(environment, "train"));
    const size = split === undefined ? 0 : await environment.size(split);
    const index = chosen ?? (size > 0 && Number.isFinite(size) ? (seed ?? 0) % size : (seed ?? 0));
    const task = await taskAt(environment, { split, index });
    this.#episode = await HostedEpisode.start(environment, task, seed ?? this.#options.seed, this.#options);
    this.#resets++;
    this.#episodeId = id ?? `${this.id}/${this.#resets}`;
    return this.#episode;
  }

  /** Tools may be listed and called before the first reset. */
  async #current(): Promise<HostedEpisode> {
    return this.#episode ?? this.#start({});
  }

  async #rpc(rpc: Rpc): Promise<object> {
    if (rpc.method === "tools/list") {
      const tools = (await this.#current()).tools.map(({ name, description, parameters }) => ({
        name,
        description,
        inputSchema: parameters,
      }));
      return rpcResult(rpc, { tools });
    }
    if (rpc.method !== "tools/call") return rpcError(rpc, "method", `Method not found: ${rpc.method}`);
    const call = rpcCallSchema.safeParse(rpc.params);
    if (!call.success) return rpcError(rpc, "params", z.prettifyError(call.error));
    const outcome = await (await this.#current()).call(call.data.name, call.data.arguments);
    if (outcome.error === "unknown-tool" || outcome.error === "invalid") return rpcError(rpc, "params", outcome.text);
    return rpcResult(rpc, toolResult(outcome));
  }
}

const types: readonly Incoming["type"][] = ["reset", "step", "state", "mcp", "close"];

function invalid(error: z.ZodError): object {
  const errors = error.issues.map(({ path, message }) => ({ type: "value_error", loc: path.map(String), msg: message }));
  return failure("VALIDATION_ERROR", "Invalid message", { errors });
}
