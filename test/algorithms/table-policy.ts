import type { Critic, Decide, Logprobs, Policy, StepReport, Values, Weights } from "../../src/core/policy.ts";
import type { ActionInContext, Group, TokenId, Trajectory, Turn } from "../../src/core/trajectory.ts";

type Table = number[][];

/** What one optimiser step saw and left. */
export interface TableStep {
  readonly gradient: Table;
  readonly tableAfter: Table;
}

/**
 * A policy whose parameters are a table: after token c, token a has log-prob log_softmax(table[c])[a]. Rows are shared by all turns, so an
 * update of one moves the others. Steps are plain gradient ascent.
 */
export class TablePolicy implements Policy {
  table: Table;
  readonly steps: TableStep[] = [];
  /** Weights that were back-propagated, by call. */
  readonly weights: Weights[] = [];
  readonly entropyWeights: Weights[] = [];
  /** Samples that went through a pass, by kind; `forwardBackward` are those whose weights were decided between its halves. */
  readonly passes = { logprobs: 0, reference: 0, forwardBackward: 0, knownWeights: 0 };
  readonly critic?: TableCritic;
  readonly #reference: Table;
  readonly #learningRate: number;
  #gradient: Table;

  constructor(table: readonly (readonly number[])[], learningRate: number, critic?: TableCritic) {
    this.critic = critic;
    this.table = copy(table);
    this.#reference = copy(table);
    this.#learningRate = learningRate;
    this.#gradient = zerosLike(table);
  }

  async logprobs(samples: readonly ActionInContext[]): Promise<Logprobs> {
    this.passes.logprobs += samples.length;
    return scores(this.table, samples);
  }

  async referenceLogprobs(samples: readonly ActionInContext[]): Promise<Logprobs> {
    this.passes.reference += samples.length;
    return scores(this.#reference, samples);
  }

  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: Decide | Weights,
    entropyWeights?: Weights,
  ): Promise<Logprobs> {
    this.passes[typeof decide === "function" ? "forwardBackward" : "knownWeights"] += samples.length;
    const logprobs = scores(this.table, samples);
    const weights = typeof decide === "function" ? decide(logprobs) : decide;
    this.weights.push(weights);
    if (entropyWeights !== undefined) this.entropyWeights.push(entropyWeights);
    for (const [i, sample] of samples.entries()) {
      for (const [j, token] of sample.action.entries()) {
        const row = rowOf(sample, j);
        const logs = logSoftmax(this.table[row]);
        const entropy = entropyOf(this.table[row]);
        for (const [a, log] of logs.entries()) {
          const probability = Math.exp(log);
          this.#gradient[row][a] += weights[i][j] * ((a === token ? 1 : 0) - probability);
          // ∂H/∂z_a = −p_a (log p_a + H)
          if (entropyWeights !== undefined) this.#gradient[row][a] -= entropyWeights[i][j] * probability * (log + entropy);
        }
      }
    }
    return logprobs;
  }

  async step(): Promise<StepReport> {
    const gradient = this.#gradient;
    const learningRate = this.#learningRate;
    this.table = this.table.map((row, c) => row.map((value, a) => value + learningRate * gradient[c][a]));
    this.steps.push({ gradient, tableAfter: copy(this.table) });
    this.#gradient = zerosLike(gradient);
    return { gradientNorm: Math.hypot(...gradient.flat()), learningRate };
  }
}

/** A critic whose parameters are one number per token that a position follows: V = table[that token]. Steps are plain gradient ascent. */
export class TableCritic implements Critic {
  table: number[];
  readonly steps: { readonly scale: number; readonly tableAfter: readonly number[] }[] = [];
  readonly #learningRate: number;
  #gradient: number[];

  constructor(table: readonly number[], learningRate: number) {
    this.table = [...table];
    this.#learningRate = learningRate;
    this.#gradient = table.map(() => 0);
  }

  async values(samples: readonly ActionInContext[]): Promise<Values> {
    return samples.map((sample) => sample.action.map((_, j) => this.table[rowOf(sample, j)]));
  }

  async forwardBackward(samples: readonly ActionInContext[], decide: (values: Values) => Weights): Promise<Values> {
    const values = await this.values(samples);
    const weights = decide(values);
    for (const [i, sample] of samples.entries())
      for (const j of sample.action.keys()) this.#gradient[rowOf(sample, j)] += weights[i][j];
    return values;
  }

  async step(scale: number): Promise<StepReport> {
    const learningRate = this.#learningRate * scale;
    this.table = this.table.map((value, c) => value + learningRate * this.#gradient[c]);
    this.steps.push({ scale, tableAfter: this.table });
    const gradientNorm = Math.hypot(...this.#gradient);
    this.#gradient = this.table.map(() => 0);
    return { gradientNorm, learningRate };
  }
}

/** In nats, of softmax(logits). */
export function entropyOf(logits: readonly number[]): number {
  return -logSoftmax(logits).reduce((sum, log) => sum + Math.exp(log) * log, 0);
}

/** A group of trajectories, each a return and the turns' contexts and actions. */
export function groupOf(
  id: string,
  trajectories: readonly {
    id?: string;
    reward: number;
    turns: readonly { context: readonly TokenId[]; action: readonly TokenId[] }[];
    branch?: Trajectory["branch"];
  }[],
): Group {
  return {
    id,
    trajectories: trajectories.map(({ id: own, reward, turns, branch }, i) => ({
      ...trajectoryOf(id, own ?? `${id}-${i}`, reward, turns),
      branch,
    })),
  };
}

function trajectoryOf(
  group: string,
  id: string,
  reward: number,
  turns: readonly { context: readonly TokenId[]; action: readonly TokenId[] }[],
): Trajectory {
  return {
    id,
    group,
    task: group,
    reward,
    scores: {},
    stopReason: "done",
    messages: [],
    turns: turns.map(
      ({ context, action }, turn): Turn => ({
        trajectory: id,
        turn,
        context,
        action,
        samplerLogprobs: [],
        entropies: [],
        weightVersion: 0,
        truncated: false,
        rewritten: false,
        invalidToolCalls: 0,
        toolCalls: 0,
      }),
    ),
  };
}

function scores(table: Table, samples: readonly ActionInContext[]): Logprobs {
  return samples.map((sample) => sample.action.map((token, j) => logSoftmax(table[rowOf(sample, j)])[token]));
}

/** The token before the j-th of the action. */
function rowOf({ context, action }: ActionInContext, j: number): TokenId {
  return j > 0 ? action[j - 1] : context.slice(-1)[0];
}

function logSoftmax(row: readonly number[]): number[] {
  const largest = Math.max(...row);
  const logSum = largest + Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - largest), 0));
  return row.map((logit) => logit - logSum);
}

function copy(table: readonly (readonly number[])[]): Table {
  return table.map((row) => [...row]);
}

function zerosLike(table: readonly (readonly number[])[]): Table {
  return table.map((row) => row.map(() => 0));
}
