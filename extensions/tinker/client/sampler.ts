import type { TokenId } from "../../../src/core/trajectory.ts";
import type { Answer, CallOptions } from "./call.ts";
import { checkedSamples, checkSample, type ModelLimits } from "./check.ts";
import type { SampleCall, SampleResult } from "./data.ts";
import { TinkerError } from "./errors.ts";
import { requestIdOf, retrieve } from "./future.ts";
import type { Connection } from "./session.ts";
import { decodeSamples } from "./wire/samples.ts";

/** Where samples come from: saved weights, or a base model. */
export type SampleSource = { readonly model_path: string } | { readonly base_model: string };

/** How often a sample whose result the server lost is drawn again. It has the same seed, so it is the same sample. */
const redraws = 3;

/**
 * Saved weights to draw from. At most the client's `inFlight` calls run at once; the others wait here.
 * @example
 * const sampler = await model.saveForSampler("step-1");
 * const { sequences } = await sampler.sample({ prompt: [1, 2, 3], maxTokens: 16, samples: 4, seed: 1 });
 */
export class TinkerSampler {
  readonly source: SampleSource;
  readonly #connection: Connection;
  readonly #limits: ModelLimits;

  constructor(connection: Connection, source: SampleSource, limits: ModelLimits) {
    this.source = source;
    this.#connection = connection;
    this.#limits = limits;
  }

  /** Draws sequences. @throws TinkerError */
  async sample(call: SampleCall, options: CallOptions = {}): Promise<SampleResult> {
    checkSample(call, this.#limits);
    return this.#connection.limit(async () => {
      for (let draw = 1; ; draw++) {
        try {
          return checkedSamples(await this.#once(call, options), call, this.#limits);
        } catch (error) {
          const lost = error instanceof TinkerError && error.kind === "lost" && error.status !== 500;
          if (!lost || draw > redraws || options.signal?.aborted) throw error;
        }
      }
    }, options.signal);
  }

  /** Log-probs of the tokens of a text; NaN for the first. */
  async promptLogprobs(prompt: readonly TokenId[], options: CallOptions = {}): Promise<readonly number[]> {
    const { promptLogprobs = [] } = await this.sample({ prompt, maxTokens: 1, promptLogprobs: true, seed: 0 }, options);
    return promptLogprobs;
  }

  async #once(call: SampleCall, { signal }: CallOptions): Promise<SampleResult> {
    const of = "asample";
    const sent = await this.#connection.transport.send({ path: of, body: this.#body(call), repeatable: true, signal });
    const options = { of, protobuf: true, onFailure: "later", signal } as const;
    return sampleResult(await retrieve(this.#connection, requestIdOf(of, sent), options));
  }

  #body(call: SampleCall): object {
    const { prompt, maxTokens, temperature = 1, topP = 1, topK = 0, seed, stop, samples = 1 } = call;
    return {
      ...this.source,
      prompt: { chunks: [{ type: "encoded_text", tokens: prompt }] },
      num_samples: samples,
      sampling_params: { max_tokens: maxTokens, temperature, top_p: topP, top_k: topK === 0 ? -1 : topK, seed, stop },
      type: "sample",
      // Sent only where they are used: some servers refuse fields that they lack.
      ...(call.promptLogprobs ? { prompt_logprobs: true } : {}),
      ...(call.topPromptLogprobs ? { topk_prompt_logprobs: call.topPromptLogprobs } : {}),
      ...(call.topLogprobs ? { topk_sample_logprobs: call.topLogprobs } : {}),
    };
  }
}

function sampleResult({ bytes, protobuf }: Answer): SampleResult {
  const wrong = (cause?: unknown) =>
    new TinkerError("the result of asample", "malformed", { kind: "answer", retry: "later", expected: "protobuf", cause });
  if (!protobuf) throw wrong();
  try {
    return decodeSamples(bytes);
  } catch (cause) {
    throw wrong(cause);
  }
}
