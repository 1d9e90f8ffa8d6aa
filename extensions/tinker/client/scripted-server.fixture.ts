import { decodeForwardBackward, encodeForwardBackwardResult, encodeSamples } from "../../../research/tinker-server/wire.ts";

/** What happens to one request: refused, lost before or after the server took it, or answered with a status. */
export type Fault = "refuse" | "lose-request" | "lose-answer" | number;

/**
 * A Tinker server of arithmetic alone behind `fetch`. Like SkyRL it executes in the order of arrival and knows a repeated pass or step
 * by its number; unlike it, it can be told to lose requests and answers.
 */
export class ScriptedServer {
  /** Paths in the order of arrival. */
  readonly arrived: string[] = [];
  /** Passes and steps that were executed, with their numbers. */
  readonly applied: string[] = [];
  /** Headers of the last request. */
  headers: Record<string, string> = {};
  /** By path, faults of the next requests. */
  readonly faults: Record<string, (Fault | undefined)[]> = {};
  /** By path, what a result is, instead of the usual one. */
  readonly results: Record<string, () => Response> = {};
  /** Polls of each future that answer "not yet". */
  slowPolls = 0;
  inFlight = 0;
  maxInFlight = 0;
  readonly #bySequence = new Map<string, string>();
  readonly #futures = new Map<string, { result: () => Response; polls: number }>();
  readonly #names = new Set<string>();

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const path = String(input).replace(/^.*\/api\/v1\//, "");
    this.headers = { ...(init?.headers as Record<string, string>) };
    this.arrived.push(path);
    this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight);
    try {
      await new Promise((resolve) => setImmediate(resolve));
      if (init?.signal?.aborted) throw new DOMException("aborted", "AbortError");
      const fault = this.faults[path]?.shift();
      if (fault === "refuse") throw broken("ECONNREFUSED");
      if (fault === "lose-request") throw broken("ECONNRESET");
      if (typeof fault === "number") return json({ detail: `scripted ${fault}` }, fault);
      const answer = this.#answer(path, init?.body);
      if (fault === "lose-answer") throw broken("ECONNRESET");
      return answer;
    } finally {
      this.inFlight--;
    }
  };

  #answer(path: string, body: unknown): Response {
    const bytes = body instanceof Uint8Array ? body : new Uint8Array();
    const fields = (): Record<string, unknown> => JSON.parse(new TextDecoder().decode(bytes));
    switch (path) {
      case "healthz":
        return json({ status: "ok" });
      case "get_server_capabilities":
        return json({ supported_models: [{ model_name: "tiny", max_context_length: 32 }] });
      case "client/config":
        return json({ pjwt_auth_enabled: false });
      case "create_session":
        return json({ session_id: "session", info_message: "hello" });
      case "session_heartbeat":
        return json({ type: "session_heartbeat" });
      case "create_model":
        return this.#future(path, () => json({ model_id: "model" }));
      case "forward_backward": {
        const { seqId, data } = decodeForwardBackward(bytes);
        const rows = data.map(({ targets }) => targets.map((target) => -target));
        const result = encodeForwardBackwardResult({ fields: { logprobs: rows }, metrics: { "loss:sum": 1 } }, "x");
        return this.#once(path, seqId, () => protobuf(result));
      }
      case "optim_step":
        return this.#once(path, Number(fields().seq_id), () => json({ metrics: { "skyrl.ai/grad_norm": 2 } }));
      case "save_weights":
      case "save_weights_for_sampler": {
        const { path: name, seq_id } = fields();
        if (this.#names.has(String(name))) return json({ detail: "already exists" }, 409);
        this.#names.add(String(name));
        return this.#once(path, Number(seq_id), () => json({ path: `tinker://model/${name}` }));
      }
      case "weights_info":
        return json({ base_model: "tiny", is_lora: true, lora_rank: 8 });
      case "load_weights":
        return this.#once(path, Number(fields().seq_id), () => json({ type: "load_weights" }));
      case "unload_model":
        return this.#future(path, () => json({ model_id: "model" }));
      case "asample": {
        const { prompt } = fields() as { prompt: { chunks: { tokens: number[] }[] } };
        const result = { sequences: [{ tokens: [prompt.chunks[0].tokens.length], logprobs: [-1], stopReason: "stop" as const }] };
        return this.#future(path, () => protobuf(encodeSamples(result)));
      }
      case "retrieve_future": {
        const future = this.#futures.get(String(fields().request_id));
        if (future === undefined) return json({ detail: "Future not found" }, 404);
        return future.polls-- > 0 ? json({ type: "try_again", queue_state: "paused_capacity" }) : future.result();
      }
      default:
        return json({ detail: "Not Found" }, 404);
    }
  }

  #once(path: string, seqId: number, result: () => Response): Response {
    const key = `${path} ${seqId}`;
    const known = this.#bySequence.get(key);
    if (known !== undefined) return json({ request_id: known });
    this.applied.push(key);
    this.#bySequence.set(key, String(this.#futures.size));
    return this.#future(path, result);
  }

  #future(path: string, result: () => Response): Response {
    const id = String(this.#futures.size);
    this.#futures.set(id, { result: this.results[path] ?? result, polls: this.slowPolls });
    return json({ request_id: id });
  }
}

export function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
}

export function protobuf(body: Uint8Array): Response {
  return new Response(new Uint8Array(body), { headers: { "content-type": "application/x-protobuf" } });
}

function broken(code: string): TypeError {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
}
