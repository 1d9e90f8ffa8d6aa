import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Decide, Logprobs, StepReport, Weights } from "../src/core/policy.ts";
import { randomStream } from "../src/core/random.ts";
import type { ActionInContext, TokenId } from "../src/core/trajectory.ts";
import type { Engine, EngineStats, ForwardOptions, SampledAction, SampleRequest, StepOptions } from "../src/engines/engine.ts";

interface State {
  steps: number;
  logits: number[];
  reference: number[];
  moment: number[];
  squares: number[];
}

/**
 * The engine seam in its smallest form: a table with a row of logits for each last token. For tests of what lies above engines: it is exact,
 * takes no time and keeps nothing but its table.
 */
export class TableEngine implements Engine {
  readonly info;
  #state: State;
  #gradient: number[];
  #sampledTokens = 0;
  /** Added to the log-probs that the sampler reports: a sampler that disagrees with the trainer. */
  samplerError = 0;

  constructor(vocabularySize: number) {
    this.info = { name: "table", parameters: vocabularySize ** 2, vocabularySize, maxLength: 4096 };
    const zeros = () => new Array<number>(vocabularySize ** 2).fill(0);
    this.#state = { steps: 0, logits: zeros(), reference: zeros(), moment: zeros(), squares: zeros() };
    this.#gradient = zeros();
  }

  get weightVersion(): number {
    return this.#state.steps;
  }

  async sample({ context, maxTokens, stopTokens, seed, temperature = 1 }: SampleRequest): Promise<SampledAction> {
    const random = randomStream(seed, "sample");
    const tokens: TokenId[] = [];
    const logprobs: number[] = [];
    const modelLogprobs: number[] = [];
    const entropies: number[] = [];
    let finish: "stop" | "length" = "length";
    while (tokens.length < maxTokens && finish === "length") {
      const previous = tokens.at(-1) ?? context[context.length - 1];
      const own = this.#row(this.#state.logits, previous, 1);
      const row = temperature === 0 ? own : this.#row(this.#state.logits, previous, temperature);
      const token = temperature === 0 ? row.indexOf(Math.max(...row)) : draw(row, random.uniform());
      tokens.push(token);
      logprobs.push((temperature === 0 ? 0 : row[token]) + this.samplerError);
      modelLogprobs.push(own[token] + this.samplerError);
      entropies.push(-row.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0));
      if (stopTokens.includes(token)) finish = "stop";
    }
    this.#sampledTokens += tokens.length;
    return { tokens, logprobs, modelLogprobs, entropies, finish, weightVersion: this.weightVersion };
  }

  release(): void {}

  async logprobs(samples: readonly ActionInContext[], { temperature }: ForwardOptions): Promise<Logprobs> {
    return this.#score(this.#state.logits, samples, temperature);
  }

  async referenceLogprobs(samples: readonly ActionInContext[], { temperature }: ForwardOptions): Promise<Logprobs> {
    return this.#score(this.#state.reference, samples, temperature);
  }

  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: Decide | Weights,
    { temperature }: ForwardOptions,
  ): Promise<Logprobs> {
    const logprobs = this.#score(this.#state.logits, samples, temperature);
    const weights = typeof decide === "function" ? decide(logprobs) : decide;
    const size = this.info.vocabularySize;
    for (const [i, { context, action }] of samples.entries()) {
      for (const [j, token] of action.entries()) {
        const previous = j === 0 ? context[context.length - 1] : action[j - 1];
        const row = this.#row(this.#state.logits, previous, temperature);
        for (const [k, logprob] of row.entries())
          this.#gradient[previous * size + k] += (weights[i][j] * (Number(k === token) - Math.exp(logprob))) / temperature;
      }
    }
    return logprobs;
  }

  async step({ learningRate, beta1, beta2, epsilon, clipNorm }: StepOptions): Promise<StepReport> {
    const state = this.#state;
    const gradientNorm = Math.hypot(...this.#gradient);
    const scale = Math.min(1, clipNorm / (gradientNorm + 1e-6));
    state.steps++;
    for (const [i, raw] of this.#gradient.entries()) {
      state.moment[i] = beta1 * state.moment[i] + (1 - beta1) * raw * scale;
      state.squares[i] = beta2 * state.squares[i] + (1 - beta2) * (raw * scale) ** 2;
      const moment = state.moment[i] / (1 - beta1 ** state.steps);
      state.logits[i] += (learningRate * moment) / (Math.sqrt(state.squares[i] / (1 - beta2 ** state.steps)) + epsilon);
    }
    this.#gradient.fill(0);
    return { gradientNorm, learningRate };
  }

  async snapshotReference(): Promise<void> {
    this.#state.reference = [...this.#state.logits];
  }

  async saveModel(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "table.json"), JSON.stringify(this.#state.logits));
  }

  async saveState(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "state.json"), JSON.stringify(this.#state));
  }

  async loadState(folder: string): Promise<void> {
    this.#state = JSON.parse(readFileSync(join(folder, "state.json"), "utf8"));
    this.#gradient.fill(0);
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
    return samples.map(({ context, action }) =>
      action.map((token, j) => this.#row(logits, j === 0 ? context[context.length - 1] : action[j - 1], temperature)[token]),
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
}

function draw(logprobs: readonly number[], uniform: number): TokenId {
  let left = uniform;
  for (const [token, logprob] of logprobs.entries()) if ((left -= Math.exp(logprob)) < 0) return token;
  return logprobs.length - 1;
}
