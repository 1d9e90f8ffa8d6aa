import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Capability, capabilities, type Decide, type Logprobs, type StepReport, type Weights } from "../src/core/policy.ts";
import { randomStream } from "../src/core/random.ts";
import type { ActionInContext, TokenId } from "../src/core/trajectory.ts";
import {
  type BackwardOptions,
  type Engine,
  type EngineCritic,
  type EngineInfo,
  type EngineStats,
  type ForwardOptions,
  type FrozenPolicy,
  requireCapability,
  requireStepOptions,
  type SampledAction,
  type SampleRequest,
  type StepOptions,
} from "../src/engines/engine.ts";

/** Adam's settings of a table that takes none from its caller: those of the suite's `adamW`. */
const tableAdam = { beta1: 0.9, beta2: 0.999, epsilon: 1e-2, weightDecay: 0.01 };

/** Numbers that learn, and Adam's state. */
interface Learned {
  steps: number;
  numbers: number[];
  moment: number[];
  squares: number[];
}

interface State {
  policy: Learned;
  reference: number[];
  critic?: Learned;
}

/**
 * The engine seam in its smallest form: a table with a row of logits for each last token. For tests of what lies above engines: it is exact,
 * takes no time and keeps nothing but its table. Its critic is a number for each last token.
 */
export class TableEngine implements Engine {
  readonly info: EngineInfo;
  #state: State;
  #gradient: number[];
  #criticGradient: number[];
  #sampledTokens = 0;
  /** Calls of `forwardBackward` since the last step. */
  #passes = 0;
  /** Folders of the states that were dropped. */
  readonly dropped: string[] = [];
  /** Added to the log-probs that the sampler reports: a sampler that disagrees with the trainer. */
  samplerError = 0;

  constructor(vocabularySize: number, has: readonly Capability[] = capabilities) {
    const size = vocabularySize ** 2;
    const fixedAdam = has.includes("adam-settings") ? undefined : tableAdam;
    this.info = { name: "table", parameters: size, vocabularySize, maxLength: 4096, capabilities: has, fixedAdam };
    this.#state = { policy: unlearned(size), reference: zeros(size) };
    this.#gradient = zeros(size);
    this.#criticGradient = zeros(vocabularySize);
  }

  get weightVersion(): number {
    return this.#state.policy.steps;
  }

  async sample(request: SampleRequest): Promise<SampledAction> {
    if ((request.topLogprobs ?? 0) > 0) this.#require("top-logprobs");
    if (request.mask !== undefined) this.#require("masked-sampling");
    const action = this.#sampleFrom(this.#state.policy.numbers, request);
    this.#sampledTokens += action.tokens.length;
    return { ...action, weightVersion: this.weightVersion };
  }

  #sampleFrom(
    logits: readonly number[],
    { context, maxTokens, stopTokens, seed, temperature = 1, topLogprobs = 0 }: SampleRequest,
  ): Omit<SampledAction, "weightVersion"> {
    const random = randomStream(seed, "sample");
    const tokens: TokenId[] = [];
    const logprobs: number[] = [];
    const modelLogprobs: number[] = [];
    const entropies: number[] = [];
    const candidates: number[][] = [];
    let finish: "stop" | "length" = "length";
    while (tokens.length < maxTokens && finish === "length") {
      const previous = tokens.at(-1) ?? context.slice(-1)[0];
      const own = this.#row(logits, previous, 1);
      const row = temperature === 0 ? own : this.#row(logits, previous, temperature);
      const token = temperature === 0 ? row.indexOf(Math.max(...row)) : draw(row, random.uniform());
      tokens.push(token);
      logprobs.push((temperature === 0 ? 0 : row[token]) + this.samplerError);
      modelLogprobs.push(own[token] + this.samplerError);
      entropies.push(entropyOf(row));
      candidates.push([...row].sort((a, b) => b - a).slice(0, topLogprobs));
      if (stopTokens.includes(token)) finish = "stop";
    }
    const told = topLogprobs > 0 ? { topLogprobs: candidates } : {};
    const known = this.info.capabilities.includes("token-entropies") ? entropies : [];
    return { tokens, logprobs, modelLogprobs, entropies: known, ...told, finish };
  }

  release(): void {}

  async logprobs(samples: readonly ActionInContext[], { temperature }: ForwardOptions): Promise<Logprobs> {
    if (temperature !== 1) this.#require("tempered-logprobs");
    return this.#score(this.#state.policy.numbers, samples, temperature);
  }

  async referenceLogprobs(samples: readonly ActionInContext[], { temperature }: ForwardOptions): Promise<Logprobs> {
    this.#require("reference");
    return this.#score(this.#state.reference, samples, temperature);
  }

  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: Decide | Weights,
    { temperature, entropyWeights }: BackwardOptions,
  ): Promise<Logprobs> {
    if (entropyWeights !== undefined) this.#require("entropy-gradient");
    if (temperature !== 1) this.#require("tempered-logprobs");
    if (this.#passes > 0) this.#require("gradient-accumulation");
    this.#passes++;
    const logprobs = this.#score(this.#state.policy.numbers, samples, temperature);
    const weights = typeof decide === "function" ? decide(logprobs) : decide;
    const size = this.info.vocabularySize;
    for (const [i, sample] of samples.entries()) {
      for (const [j, token] of sample.action.entries()) {
        const previous = tokenBefore(sample, j);
        const row = this.#row(this.#state.policy.numbers, previous, temperature);
        const [weight, entropyWeight, entropy] = [weights[i][j], entropyWeights?.[i][j] ?? 0, entropyOf(row)];
        for (const [k, logprob] of row.entries()) {
          const p = Math.exp(logprob);
          const slope = weight * (Number(k === token) - p) - entropyWeight * p * (logprob + entropy);
          this.#gradient[previous * size + k] += slope / temperature;
        }
      }
    }
    return logprobs;
  }

  async step(options: StepOptions): Promise<StepReport> {
    requireStepOptions(this.info, options);
    this.#passes = 0;
    return climb(this.#state.policy, this.#gradient, options);
  }

  async freeze(): Promise<FrozenPolicy> {
    return this.#frozen({ numbers: [...this.#state.policy.numbers], steps: this.weightVersion });
  }

  async loadFrozen(folder: string): Promise<FrozenPolicy> {
    return this.#frozen(JSON.parse(readFileSync(join(folder, "frozen.json"), "utf8")));
  }

  #frozen(policy: { readonly numbers: readonly number[]; readonly steps: number }): FrozenPolicy {
    this.#require("frozen-policies");
    let sampledTokens = 0;
    return {
      info: this.info,
      weightVersion: policy.steps,
      sample: async (request) => {
        const action = this.#sampleFrom(policy.numbers, request);
        sampledTokens += action.tokens.length;
        return { ...action, weightVersion: policy.steps };
      },
      release: () => {},
      logprobs: async (samples, { temperature }) => this.#score(policy.numbers, samples, temperature),
      takeStats: () => {
        const stats = { sampledTokens, prefilledTokens: 0, seconds: 0 };
        sampledTokens = 0;
        return stats;
      },
      saveState: async (folder) => {
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, "frozen.json"), JSON.stringify(policy));
      },
      dispose: async () => {},
    };
  }

  async critic(): Promise<EngineCritic> {
    this.#require("critic");
    const state = (this.#state.critic ??= unlearned(this.info.vocabularySize));
    const gradient = this.#criticGradient;
    const values = async (samples: readonly ActionInContext[]) =>
      samples.map((sample) => sample.action.map((_, j) => state.numbers[tokenBefore(sample, j)]));
    return {
      get steps() {
        return state.steps;
      },
      values,
      forwardBackward: async (samples, decide) => {
        const current = await values(samples);
        const weights = decide(current);
        for (const [i, sample] of samples.entries())
          for (const j of sample.action.keys()) gradient[tokenBefore(sample, j)] += weights[i][j];
        return current;
      },
      step: async (options) => {
        requireStepOptions(this.info, options);
        return climb(state, gradient, options);
      },
    };
  }

  async snapshotReference(): Promise<void> {
    this.#require("reference");
    this.#state.reference = [...this.#state.policy.numbers];
  }

  async saveModel(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "table.json"), JSON.stringify(this.#state.policy.numbers));
  }

  async saveState(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true });
    const has = (capability: Capability) => this.info.capabilities.includes(capability);
    const { policy, reference, critic } = this.#state;
    const kept = (learned: Learned): Learned => ({
      ...(has("exact-state") ? learned : { ...unlearned(learned.numbers.length), steps: learned.steps }),
      numbers: has("full-precision-state") ? learned.numbers : learned.numbers.map((x) => Number(x.toPrecision(3))),
    });
    const state: State = { policy: kept(policy), reference, ...(critic && { critic: kept(critic) }) };
    writeFileSync(join(folder, "state.json"), JSON.stringify(state));
  }

  async dropState(folder: string): Promise<void> {
    this.dropped.push(folder);
  }

  async loadState(folder: string): Promise<void> {
    this.#state = JSON.parse(readFileSync(join(folder, "state.json"), "utf8"));
    this.#passes = 0;
    this.#gradient.fill(0);
    this.#criticGradient.fill(0);
  }

  takeStats(): EngineStats {
    const sampledTokens = this.#sampledTokens;
    this.#sampledTokens = 0;
    return {
      sampler: { sampledTokens, prefilledTokens: 0, seconds: 0 },
      training: { computedTokens: 0, denseTokens: 0, seconds: 0 },
    };
  }

  async dispose(): Promise<void> {}

  #score(logits: readonly number[], samples: readonly ActionInContext[], temperature: number): Logprobs {
    return samples.map((sample) =>
      sample.action.map((token, j) => this.#row(logits, tokenBefore(sample, j), temperature)[token]),
    );
  }

  /** log softmax(logits / temperature) of what follows a token. */
  #row(logits: readonly number[], previous: TokenId, temperature: number): number[] {
    const size = this.info.vocabularySize;
    const row = logits.slice(previous * size, (previous + 1) * size).map((logit) => logit / temperature);
    const largest = Math.max(...row);
    const total = largest + Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - largest), 0));
    return row.map((logit) => logit - total);
  }

  #require(capability: Capability): void {
    requireCapability(this.info, capability);
  }
}

function zeros(size: number): number[] {
  return new Array<number>(size).fill(0);
}

function unlearned(size: number): Learned {
  return { steps: 0, numbers: zeros(size), moment: zeros(size), squares: zeros(size) };
}

function tokenBefore({ context, action }: ActionInContext, j: number): TokenId {
  return j === 0 ? context.slice(-1)[0] : action[j - 1];
}

function entropyOf(logprobs: readonly number[]): number {
  return -logprobs.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0);
}

/** One step of AdamW without decay up the gradient, which is cleared. */
function climb(state: Learned, gradient: number[], { learningRate, beta1, beta2, epsilon, clipNorm }: StepOptions): StepReport {
  const gradientNorm = Math.hypot(...gradient);
  const scale = Math.min(1, clipNorm / (gradientNorm + 1e-6));
  state.steps++;
  for (const [i, raw] of gradient.entries()) {
    state.moment[i] = beta1 * state.moment[i] + (1 - beta1) * raw * scale;
    state.squares[i] = beta2 * state.squares[i] + (1 - beta2) * (raw * scale) ** 2;
    const moment = state.moment[i] / (1 - beta1 ** state.steps);
    state.numbers[i] += (learningRate * moment) / (Math.sqrt(state.squares[i] / (1 - beta2 ** state.steps)) + epsilon);
  }
  gradient.fill(0);
  return { gradientNorm, learningRate };
}

function draw(logprobs: readonly number[], uniform: number): TokenId {
  let left = uniform;
  for (const [token, logprob] of logprobs.entries()) if ((left -= Math.exp(logprob)) < 0) return token;
  return logprobs.length - 1;
}
