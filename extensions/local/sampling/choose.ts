import type { TokenId } from "../../../src/core/trajectory.ts";
import type { TokenMask } from "../../../src/engines/engine.ts";

/** How one token is drawn from a row of probabilities. */
export interface Choice {
  /** 0 is greedy. */
  readonly temperature: number;
  /** 1 is off. */
  readonly topP: number;
  /** 0 is off. */
  readonly topK: number;
}

export interface Chosen {
  readonly token: TokenId;
  /** Under the distribution that was sampled. 0 where the choice was greedy. */
  readonly logprob: number;
  /** Under the model: softmax(logits). */
  readonly modelLogprob: number;
}

/** A distribution of which a mask has taken some tokens. */
export interface MaskedProbabilities {
  /** [V], 0 where a token may not come. */
  readonly probabilities: Float32Array;
  /** True if the mask took more than `unnoticed` of the probability. */
  readonly changed: boolean;
}

/** Share of the probability that a mask may take from a distribution which then counts as unchanged: its log-probs differ by as much. */
const unnoticed = 1e-4;

/** Tokens above this probability are asked for one by one where the mask leaves them out. */
const likely = 1e-3;

/** Takes the tokens away that a mask does not allow. The rest is scaled to 1 where that changes it; all that are allowed are equal where no mass is left. */
export function masked(probabilities: Float32Array, mask: Pick<TokenMask, "next" | "allows">): MaskedProbabilities {
  const bits = mask.next();
  const allowed = (token: number) => ((bits[token >> 5] ?? 0) >>> (token & 31)) & 1;
  const left = probabilities.map((probability, token) =>
    allowed(token) || (probability > likely && mask.allows(token)) ? probability : 0,
  );
  const mass = left.reduce((sum, probability) => sum + probability, 0);
  if (mass >= 1 - unnoticed) return { probabilities: left, changed: false };
  if (mass > 0) return { probabilities: left.map((probability) => probability / mass), changed: true };
  const equal = left.map((_, token) => allowed(token));
  const count = equal.reduce((sum, one) => sum + one, 0);
  return { probabilities: equal.map((one) => one / count), changed: true };
}

/** Whether `chooseToken` needs the raw logits: probabilities are tempered, and do not give the model's own. */
export function needsLogits({ temperature }: Choice): boolean {
  return temperature !== 1 && temperature !== 0;
}

/**
 * Draws a token by inverting the cumulative distribution.
 * @param probabilities [V]: softmax(logits / temperature), of temperature 1 where the choice is greedy
 * @param logits [V], where `needsLogits`
 * @param uniform in [0, 1)
 */
export function chooseToken(
  probabilities: Float32Array,
  logits: Float32Array | undefined,
  choice: Choice,
  uniform: number,
): Chosen {
  const { token, logprob } =
    choice.temperature === 0
      ? { token: likeliest(probabilities), logprob: 0 }
      : choice.topK === 0 && choice.topP === 1
        ? drawFromAll(probabilities, uniform)
        : drawFrom(support(probabilities, choice), probabilities, uniform);
  return { token, logprob, modelLogprob: logits ? logits[token] - logSumExp(logits) : Math.log(probabilities[token]) };
}

function drawFromAll(probabilities: Float32Array, uniform: number): { token: TokenId; logprob: number } {
  let cumulative = 0;
  let token = 0;
  for (let candidate = 0; candidate < probabilities.length; candidate++) {
    if (probabilities[candidate] === 0) continue;
    token = candidate; // rounding may leave the sum below `uniform`: then the last possible token is meant
    cumulative += probabilities[candidate];
    if (cumulative > uniform) break;
  }
  return { token, logprob: Math.log(probabilities[token]) };
}

function drawFrom(tokens: readonly TokenId[], probabilities: Float32Array, uniform: number): { token: TokenId; logprob: number } {
  const mass = tokens.reduce((sum, token) => sum + probabilities[token], 0);
  let cumulative = 0;
  const token =
    tokens.find((candidate) => (cumulative += probabilities[candidate]) > uniform * mass) ?? tokens[tokens.length - 1];
  return { token, logprob: Math.log(probabilities[token] / mass) };
}

/** Candidates of one token, most likely first. */
export interface TopCandidates {
  readonly tokens: readonly TokenId[];
  readonly logprobs: readonly number[];
}

/** The `count` most likely tokens, ties by id; fewer where fewer are possible. */
export function topCandidates(probabilities: Float32Array, count: number): TopCandidates {
  const top: TokenId[] = [];
  for (const [token, probability] of probabilities.entries()) {
    if (probability === 0 || probability <= probabilities[top[count - 1]]) continue; // there may be no such candidate yet
    let at = top.length < count ? top.length : count - 1;
    for (; at > 0 && probabilities[top[at - 1]] < probability; at--) top[at] = top[at - 1];
    top[at] = token;
  }
  return { tokens: top, logprobs: top.map((token) => Math.log(probabilities[token])) };
}

/** Ids are below it. */
const mostTokens = 2 ** 20;

/** Returns the tokens that top-k and top-p leave, most likely first; ties by id. Never empty. */
function support(probabilities: Float32Array, { topK, topP }: Choice): TokenId[] {
  // Numbers that sort as they should: the bits of a probability, which grow with it, then the id. A comparison in JavaScript would take 30 times as long.
  const bits = new Uint32Array(probabilities.buffer, probabilities.byteOffset, probabilities.length);
  const keys = new Float64Array(bits.length);
  for (let token = 0; token < bits.length; token++) keys[token] = (2 ** 32 - bits[token]) * mostTokens + token;
  keys.sort();
  const tokenAt = (rank: number) => keys[rank] - Math.floor(keys[rank] / mostTokens) * mostTokens;
  const most = topK === 0 ? keys.length : Math.min(topK, keys.length);
  let mass = 0;
  for (let rank = 0; rank < most; rank++) mass += probabilities[tokenAt(rank)];
  const kept: TokenId[] = [];
  for (let cumulative = 0; kept.length < most && !(cumulative >= topP * mass && kept.length > 0); ) {
    const token = tokenAt(kept.length);
    cumulative += probabilities[token];
    kept.push(token);
  }
  return kept;
}

/** Numbers that drawing one of a vocabulary's tokens passes over, for `Turns`. */
export function numbersDrawn({ topK, topP, temperature }: Choice, vocabSize: number): number {
  const sorts = temperature !== 0 && (topK > 0 || topP < 1);
  return sorts ? 8 * vocabSize : vocabSize;
}

function likeliest(probabilities: Float32Array): TokenId {
  let best = 0;
  for (let token = 1; token < probabilities.length; token++) if (probabilities[token] > probabilities[best]) best = token;
  return best;
}

function logSumExp(logits: Float32Array): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (const logit of logits) largest = Math.max(largest, logit);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - largest);
  return largest + Math.log(sum);
}
