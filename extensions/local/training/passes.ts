import { isGpu, type SessionOptions } from "../machine/device.ts";
import type { Head } from "../model/heads.ts";
import type { ModelConfig } from "../model/model-config.ts";
import type { RoundedMatrices } from "../model/rounded.ts";
import type { Gradients } from "./gradient-sums.ts";
import type { PackedBatch } from "./packing.ts";
import type { Placed, Shapes } from "./parameter-store.ts";
import { isLayered, passLimits, wholeGraphBytes } from "./pass-sizes.ts";
import { RecomputingGraph } from "./recompute.ts";
import { type Pass, type TrainableModel, TrainingGraph } from "./training-graph.ts";

/**
 * A whole graph that held more than this in a pass is closed before actions are sampled with new weights, unless there is memory for both
 * (memory-plan.ts): what it took is free then. To open it again takes processor time by its nodes, 0.1 s for 4 layers and 3 s for 30, and the pages
 * that it takes have to be fetched.
 */
export const restBytes = 320 * 2 ** 20;

export interface PassesOptions extends SessionOptions {
  /** Names and shapes of the parameters that learn. */
  readonly trained: Shapes;
  /** Those of them that are in fewer bits. Passes are then made layer by layer. */
  readonly rounded?: RoundedMatrices;
  /** Whether layers compute their activations again in the backward half; where these would fill the memory if left out. */
  readonly recompute?: boolean;
  /** The bytes that a pass may hold at once. Default 2 GiB. */
  readonly passBytes?: number;
  /** Where a whole graph held more than this, it is closed by `rest`. Default 320 MiB on the processor; on a GPU it stays open. */
  readonly restBytes?: number;
}

/** Passes over micro-batches, of the whole model at once or layer by layer, whichever the size of each asks for. */
export class Passes {
  readonly #config: ModelConfig;
  /** For each head the whole model as one graph, and layer by layer. */
  readonly #graphs: readonly { readonly whole: TrainableModel; readonly layered: TrainableModel }[];
  readonly #options: PassesOptions;
  /** Most bytes that a pass over a whole graph held since these were closed. */
  #wholeBytes = 0;
  /** Whether a pass was made layer by layer since weights changed. */
  #hasLayered = false;

  /** @param heads the n-th reads n numbers a token */
  constructor(config: ModelConfig, heads: readonly Head[], options: PassesOptions) {
    const { threads, provider, runtime, precision, rounded } = options;
    const graphOptions = { ...{ threads, provider, runtime, precision }, trained: [...options.trained.keys()] };
    this.#config = config;
    this.#graphs = heads.map((head) => ({
      whole: new TrainingGraph(config, head, graphOptions),
      layered: new RecomputingGraph(config, head, { ...graphOptions, rounded }),
    }));
    this.#options = options;
  }

  /** @returns the head's first number of each scored token, [M] */
  async forward(pass: Pass, parameters: Placed): Promise<Float32Array> {
    return (await this.#graph(pass.batch, 1)).forward(pass, parameters);
  }

  /** Adds to the gradients, as `TrainableModel.backward`. @returns as `forward` */
  async backward(pass: Pass, parameters: Placed, gradients: Gradients, empty: boolean): Promise<Float32Array> {
    const graph = await this.#graph(pass.batch, pass.weights?.length ?? 0);
    return graph.backward(pass, parameters, gradients, empty);
  }

  /**
   * A forward half alone would often fit in one session, but computes nothing twice layer by layer either. The two forms are not held at once:
   * batches come longest first, so that one follows the other once in a pass.
   * @param numbers that the head reads
   */
  async #graph(batch: PackedBatch, numbers: number): Promise<TrainableModel> {
    const { whole, layered } = this.#graphs[numbers - 1];
    const { rounded, recompute, trained, passBytes, provider } = this.#options;
    const limits = passLimits(provider);
    if (rounded !== undefined || (recompute ?? isLayered(this.#config, batch, trained, passBytes, limits))) {
      if (this.#wholeBytes > 0) await this.#closeWhole();
      this.#hasLayered = true;
      return layered;
    }
    this.#wholeBytes = Math.max(this.#wholeBytes, wholeGraphBytes(this.#config, batch, trained));
    for (const graphs of this.#graphs) await graphs.layered.close();
    return whole;
  }

  /** Gives back the memory of passes layer by layer, and of large whole graphs. The next pass opens sessions again, which costs little beside it. */
  async rest(): Promise<void> {
    for (const { layered } of this.#graphs) await layered.close();
    const { provider = "cpu", restBytes: most = isGpu(provider) ? Number.POSITIVE_INFINITY : restBytes } = this.#options;
    if (this.#hasLayered || this.#wholeBytes > most) await this.#closeWhole();
    this.#hasLayered = false;
  }

  async #closeWhole(): Promise<void> {
    this.#wholeBytes = 0;
    for (const { whole } of this.#graphs) await whole.close();
  }

  async close(): Promise<void> {
    for (const { whole, layered } of this.#graphs) for (const graph of [whole, layered]) await graph.close();
  }
}
