import { randomUUID } from "node:crypto";
import { EngineError } from "../../../src/core/errors.ts";
import { present } from "../../../src/core/present.ts";
import type { TokenId } from "../../../src/core/trajectory.ts";
import {
  type EngineInfo,
  missingCapability,
  requireCapability,
  type SampledAction,
  type SampleRequest,
} from "../../../src/engines/engine.ts";
import type { CallOptions, SampleCall, SampledSequence, TinkerSampler } from "../client/index.ts";
import type { Recovering } from "./recovering.ts";
import type { Tally } from "./tally.ts";

type Decode = (tokens: readonly TokenId[]) => string;

/** Names of checkpoints are used once on a server, which may be older than this process. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 8)}`;
}

/** A request that the server can honour. */
interface Wanted {
  readonly call: SampleCall;
  readonly greedy: boolean;
  readonly stopStrings: readonly string[];
  readonly decode: Decode;
  readonly signal: AbortSignal | undefined;
}

/** @throws EngineError for what the engine lacks */
export function requestOf(request: SampleRequest, info: EngineInfo, wideSeeds: boolean, decode: Decode | undefined): Wanted {
  const { temperature = 1, topP = 1, topK = 0, context, stopTokens, stopStrings = [], signal, seed } = request;
  const greedy = temperature === 0;
  // Servers report log-probs of the model, not of a distribution that temperature, top-k and top-p have changed.
  if (!greedy && (temperature !== 1 || topP !== 1 || topK !== 0)) throw missingCapability(info, "tempered-logprobs");
  if (request.mask !== undefined) throw missingCapability(info, "masked-sampling");
  if (request.topLogprobs) requireCapability(info, "top-logprobs");
  if (stopStrings.length > 0 && decode === undefined)
    throw new EngineError("stopStrings", stopStrings, { expected: "an engine made with `decode`" });
  const call = {
    prompt: context,
    maxTokens: Math.min(request.maxTokens, info.maxLength - context.length),
    temperature,
    seed: wideSeeds ? seed >>> 0 : seed & 0x7fffffff,
    stop: stopTokens,
    topLogprobs: request.topLogprobs,
  };
  return { call, greedy, stopStrings, decode: decode ?? (() => ""), signal };
}

export async function drawOne(sampler: TinkerSampler, call: SampleCall, options?: CallOptions): Promise<SampledSequence> {
  const { sequences } = await sampler.sample(call, options);
  return present(sequences[0], "a sampled sequence");
}

/** Samples the weights of now: they are saved under a new name when the first action of a version is drawn. */
export class RemoteSampling {
  readonly #remote: Recovering;
  readonly #tally: Tally;
  /** The sampler of the present weights, on the present model. */
  #sampler: { readonly generation: number; readonly opened: Promise<TinkerSampler> } | undefined;
  #inFlight = 0;

  constructor(remote: Recovering, tally: Tally) {
    this.#remote = remote;
    this.#tally = tally;
  }

  /** Actions that are being drawn. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The weights are others now, or a name was saved after the sampler's: sampling it again would load it over them on some servers. */
  outdate(): void {
    this.#sampler = undefined;
  }

  /** Draws one action. @param version of the weights */
  async sample({ call, greedy, stopStrings, decode, signal }: Wanted, version: number): Promise<SampledAction> {
    this.#inFlight++;
    const start = performance.now();
    try {
      const sequence = await this.#remote.run(async (_, generation) =>
        drawOne(await this.#samplerOf(generation, version), call, { signal }),
      );
      const end = stopAfter(sequence.tokens, stopStrings, decode) ?? sequence.tokens.length;
      this.#tally.sampled(end, call.prompt.length);
      return { ...actionOf(sequence, end, greedy), weightVersion: version };
    } finally {
      this.#inFlight--;
      this.#tally.sampledSince(start);
    }
  }

  #samplerOf(generation: number, version: number): Promise<TinkerSampler> {
    if (this.#sampler?.generation !== generation) {
      const opened = this.#remote.current.saveForSampler(uniqueName(`sample-${version}`));
      opened.catch(() => {
        this.#sampler = undefined;
      });
      this.#sampler = { generation, opened };
    }
    return this.#sampler.opened;
  }
}

/** The first `end` tokens of what the server sent. A greedy choice is certain: its log-probs are 0. */
function actionOf(
  { tokens, logprobs, stopReason, topLogprobs }: SampledSequence,
  end: number,
  greedy: boolean,
): Omit<SampledAction, "weightVersion"> {
  const modelLogprobs = logprobs.slice(0, end);
  const top = topLogprobs?.slice(0, end);
  return {
    tokens: tokens.slice(0, end),
    logprobs: greedy ? modelLogprobs.map(() => 0) : modelLogprobs,
    modelLogprobs,
    entropies: [],
    ...(top && { topLogprobs: top.map((each) => each.logprobs), topTokens: top.map((each) => each.tokens) }),
    finish: end < tokens.length ? "stop" : stopReason,
  };
}

/**
 * The number of tokens after which a text contains one of the stop strings; undefined if it never does. Servers take stop tokens or stop
 * strings, not both: strings are looked for here, and what was sampled behind them is dropped.
 */
export function stopAfter(tokens: readonly TokenId[], stops: readonly string[], decode: Decode): number | undefined {
  const contains = (count: number) => {
    const text = decode(tokens.slice(0, count));
    return stops.some((stop) => text.includes(stop));
  };
  if (stops.length === 0 || !contains(tokens.length)) return undefined;
  let [without, within] = [0, tokens.length];
  while (within - without > 1) {
    const middle = (without + within) >> 1;
    if (contains(middle)) within = middle;
    else without = middle;
  }
  return within;
}
