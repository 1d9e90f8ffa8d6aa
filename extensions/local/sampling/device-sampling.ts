import { isGpu, type Provider } from "../machine/device.ts";
import type { Arrays } from "../model/arrays.ts";
import type { ModelConfig } from "../model/model-config.ts";
import type { Placed } from "../training/parameter-store.ts";
import type { Chosen } from "./choose.ts";
import { type DecodedRow, DeviceDecoder } from "./device-decoder.ts";
import { DeviceSlotMemory, onDevice } from "./device-slots.ts";
import { DeviceWeights } from "./device-weights.ts";
import type { Entries, EntryMemory, Located, SlotEntries } from "./entries.ts";
import { drawsAlone, type Row } from "./row.ts";
import { SamplingGraph, type SamplingOptions, type StepOutputs } from "./sampling-graph.ts";

export interface DeviceSamplingOptions extends SamplingOptions {
  readonly provider: Provider;
  /** Parameters that are there already. */
  readonly placed?: () => Promise<Placed>;
}

/** Whether a model is sampled on a device, where weights, keys and values stay. Convolutions and rounded matrices are computed from arrays. */
export function staysOnDevice(
  { layerTypes = [] }: ModelConfig,
  { provider = "cpu", runtime, weights }: SamplingOptions,
): boolean {
  return isGpu(provider) && runtime === undefined && weights !== "int8" && !layerTypes.includes("conv");
}

interface Opened {
  readonly weights: DeviceWeights;
  readonly memory: DeviceSlotMemory;
  readonly prompts: SamplingGraph;
  readonly decoder: DeviceDecoder;
}

/** All that sampling on a device needs, opened when it is first used, and kept through updates: steps that were recorded stay valid. */
export class DeviceSampling implements EntryMemory {
  readonly #config: ModelConfig;
  readonly #options: DeviceSamplingOptions;
  #opened: Opened | undefined;

  constructor(config: ModelConfig, options: DeviceSamplingOptions) {
    this.#config = config;
    this.#options = options;
  }

  /** @returns the steps over prompts */
  async open(parameters: Arrays): Promise<SamplingGraph> {
    this.#opened ??= await this.#open(parameters);
    return this.#opened.prompts;
  }

  /** Takes parameters that have changed. */
  async update(parameters: Arrays): Promise<void> {
    if (this.#opened === undefined) return;
    const haveMoved = await this.#opened.weights.update(await this.#placed(parameters));
    if (haveMoved) this.#opened.decoder.forgetAll();
  }

  newSlots(): SlotEntries {
    return this.#here.memory.newSlots();
  }

  gather(slots: readonly Located[], tokens: number): Promise<Entries> {
    return this.#here.memory.gather(slots, tokens);
  }

  view(): undefined {
    return undefined;
  }

  /** One token of each row. Rows of which nothing else is needed have drawn the next one. */
  async decode(rows: readonly Row[], cache: SlotEntries): Promise<StepOutputs> {
    const alone = rows.map(drawsAlone);
    const inputs = rows.map((row, r): DecodedRow => {
      const { pending, tokens, choice } = row;
      const uniform = alone[r] ? row.random.uniform() : 0;
      return { token: pending[0], position: tokens.length, uniform, temperature: choice.temperature };
    });
    const { drawn, lines } = await this.#here.decoder.step(inputs, onDevice(cache));
    const chosen = rows.map((row, r): Chosen | undefined => {
      if (!alone[r]) return undefined;
      const [token, probability, modelLogprob] = drawn.subarray(r * 4, r * 4 + 3);
      const { temperature } = row.choice;
      const logprob = Math.log(probability);
      const isOwn = temperature === 0 || temperature === 1;
      return { token, logprob: temperature === 0 ? 0 : logprob, modelLogprob: isOwn ? logprob : modelLogprob };
    });
    const whole = rows.flatMap(({ pending }, r) => (alone[r] || pending.length > 1 ? [] : [r]));
    const { probabilities, logits } = whole.length > 0 ? await lines(whole) : { probabilities: none, logits: undefined };
    const entropies = Float32Array.from(rows, (_, r) => drawn[r * 4 + 3]);
    const lineOf = new Map(whole.map((r, line) => [r, line]));
    return { probabilities, logits, entropies, made: undefined, drawn: { chosen, lineOf } };
  }

  /** Gives back what runs over prompts took. */
  rest(): void {
    this.#opened?.memory.rest();
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    await opened.decoder.close();
    await opened.prompts.close();
    await opened.memory.close();
    await opened.weights.close();
  }

  get #here(): Opened {
    if (this.#opened === undefined) throw new RangeError("a device that is not open");
    return this.#opened;
  }

  async #placed(parameters: Arrays): Promise<Placed> {
    return this.#options.placed?.() ?? parameters;
  }

  async #open(parameters: Arrays): Promise<Opened> {
    const options = this.#options;
    const weights = await DeviceWeights.open(this.#config, await this.#placed(parameters), options.provider);
    const decoder = await DeviceDecoder.open(this.#config, weights, options);
    const memory = await DeviceSlotMemory.open(this.#config, options.provider, (entries) => decoder.forget(entries));
    const device = { weights, memory };
    const prompts = await SamplingGraph.open(this.#config, parameters, { ...options, device });
    return { weights, memory, prompts, decoder };
  }
}

const none = new Float32Array(0);
