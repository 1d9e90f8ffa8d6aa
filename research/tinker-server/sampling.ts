import { randomInt } from "node:crypto";
import { setMaxListeners } from "node:events";
import { HttpError } from "../../extensions/http/http-error.ts";
import type { SampledSequence, SampleResult, TopLogprobs } from "../../extensions/tinker/client/data.ts";
import type { ActionInContext, TokenId } from "../../src/core/trajectory.ts";
import type { SampleRequest } from "../../src/engines/engine.ts";
import type { ServedModel } from "./local-model.ts";
import type { SampleBody } from "./requests.ts";
import type { OpenSampler } from "./samplers.ts";

/** A sample request that was checked. */
export interface CheckedSample {
  readonly prompt: readonly TokenId[];
  readonly samples: number;
  readonly request: Omit<SampleRequest, "seed" | "context">;
  readonly seed: number;
  readonly promptLogprobs: boolean;
  readonly topPrompt: number;
  readonly top: number;
}

/** @throws HttpError naming what this server does not sample */
export function checkSample(body: SampleBody, { vocabularySize, maxLength, endTokens }: ServedModel): CheckedSample {
  const { sampling_params: params, num_samples: samples } = body;
  const prompt = body.prompt.chunks.flatMap(({ tokens }) => tokens);
  if (prompt.length === 0 || prompt.length >= maxLength)
    throw new HttpError(422, "tokens of the prompt", prompt.length, {
      expected: `1 to ${maxLength - 1}, the model's length less one`,
    });
  const outside = prompt.find((token) => token >= vocabularySize);
  if (outside !== undefined)
    throw new HttpError(422, "a token of the prompt", outside, { expected: `0 to ${vocabularySize - 1}` });
  const top = body.topk_sample_logprobs;
  const reshaped = params.temperature !== 1 && params.temperature !== 0 && (params.top_k > 0 || params.top_p < 1);
  if (top > 0 && reshaped) {
    const expected = "temperature 0 or 1, or top_k −1 and top_p 1";
    throw new HttpError(422, "topk_sample_logprobs with temperature, top_k and top_p", top, { expected });
  }
  const stop =
    params.stop === null || params.stop === undefined ? endTokens : typeof params.stop === "string" ? [params.stop] : params.stop;
  const stopTokens = stop.filter((each) => typeof each === "number");
  const stopStrings = stop.filter((each) => typeof each === "string");
  if (stopTokens.length > 0 && stopStrings.length > 0)
    throw new HttpError(422, "sampling_params.stop", "tokens and texts", { expected: "one or the other" });
  return {
    prompt,
    samples,
    request: {
      maxTokens: params.max_tokens ?? maxLength - prompt.length,
      temperature: params.temperature,
      topP: params.top_p,
      topK: Math.max(0, params.top_k),
      stopTokens,
      ...(stopStrings.length > 0 ? { stopStrings } : {}),
      ...(top > 0 ? { topLogprobs: top } : {}),
    },
    // Seeds have 32 bits, with a sign: a client that has none sends −1 as 2³² − 1.
    seed: (params.seed ?? randomInt(2 ** 31)) | 0,
    promptLogprobs: body.prompt_logprobs === true,
    topPrompt: body.topk_prompt_logprobs,
    top,
  };
}

/**
 * Draws sequences, the n-th with the seed's n-th successor, so that one does not depend on how many there are. Log-probs are the model's own,
 * unaffected by temperature, top-k and top-p: those that a pass of training gives for the same tokens.
 */
export async function drawSamples(sampler: OpenSampler, call: CheckedSample, signal: AbortSignal): Promise<SampleResult> {
  const { prompt, samples, request, seed, promptLogprobs, topPrompt, top } = call;
  setMaxListeners(0, signal); // each draw listens
  const draws = Array.from({ length: samples }, async (_, n): Promise<SampledSequence> => {
    const action = await sampler.sample({ ...request, context: prompt, seed: seed + n, signal });
    const { tokens, modelLogprobs = action.logprobs, logprobs, finish } = action;
    const sequence = { tokens, logprobs: modelLogprobs, stopReason: finish };
    if (top === 0) return sequence;
    const { temperature = 1 } = request;
    const candidates = action.topLogprobs ?? [];
    return {
      ...sequence,
      topLogprobs: candidates.map((row, t) => ({
        tokens: action.topTokens?.[t] ?? [],
        // lp = T·lp_T + c, and c is that of the token that was drawn.
        logprobs:
          temperature === 0 || temperature === 1
            ? row
            : row.map((lp) => temperature * lp + modelLogprobs[t] - temperature * logprobs[t]),
      })),
    };
  });
  const [sequences, scores, tops] = await Promise.all([
    Promise.all(draws),
    promptLogprobs ? scorePrompt(sampler, prompt) : undefined,
    topPrompt > 0 ? topOfPrompt(sampler, call, signal) : undefined,
  ]);
  return {
    sequences,
    ...(scores === undefined ? {} : { promptLogprobs: scores }),
    ...(tops === undefined ? {} : { topPromptLogprobs: tops }),
  };
}

/** One number for each token; NaN for the first. */
async function scorePrompt(sampler: OpenSampler, prompt: readonly TokenId[]): Promise<number[]> {
  if (prompt.length === 1) return [Number.NaN];
  const sample: ActionInContext = { trajectory: "prompt", turn: 0, context: prompt.slice(0, 1), action: prompt.slice(1) };
  const logprobs = await sampler.logprobs([sample], { temperature: 1 });
  return [Number.NaN, ...logprobs.flat()];
}

/** The most likely tokens at each place of the prompt but the first: each is one draw of one token, and the draws share the prompt's computation. */
async function topOfPrompt(
  sampler: OpenSampler,
  { prompt, topPrompt, seed }: CheckedSample,
  signal: AbortSignal,
): Promise<TopLogprobs[]> {
  return Promise.all(
    prompt.map(async (_, t): Promise<TopLogprobs> => {
      if (t === 0) return { tokens: [], logprobs: [] };
      const context = prompt.slice(0, t);
      const request = { context, maxTokens: 1, stopTokens: [], seed, temperature: 1, topLogprobs: topPrompt, signal };
      const { topTokens, topLogprobs } = await sampler.sample(request);
      return { tokens: topTokens?.[0] ?? [], logprobs: topLogprobs?.[0] ?? [] };
    }),
  );
}
