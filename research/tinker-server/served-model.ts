import type { TokenId } from "../../src/core/trajectory.ts";
import type { Engine } from "../../src/engines/engine.ts";

/** LoRA on a served model: which matrices, and how it begins. */
export interface AdapterSettings {
  readonly rank: number;
  readonly alpha: number;
  /** Modules of the layers by the last part of their name. */
  readonly targets: readonly string[];
  readonly seed: number;
}

/** The weights that are trained: an adapter, or the model itself. */
export type Trained = AdapterSettings | "full";

/** A base model that clients may train and sample. */
export interface ServedModel {
  readonly name: string;
  /** Folder of the tokenizer, as clients on this machine can read it. */
  readonly folder: string;
  readonly architecture: string;
  readonly vocabularySize: number;
  /** Longest sequence in tokens. */
  readonly maxLength: number;
  /** Tokens that end a text. */
  readonly endTokens: readonly TokenId[];
  /** Linear modules of the layers, by part. */
  readonly modules: { readonly attention: readonly string[]; readonly mlp: readonly string[] };
  /** The smaller side of its widest linear module: an adapter of a higher rank could say no more. */
  readonly maxRank: number;
  /** Most bytes that one opened model takes. */
  bytes(trained: Trained): number;
  /**
   * Opens the model for training.
   * @param from a folder that `OpenedModel.saveWeights` wrote, or one in the same format: the weights to begin with. Default: the base's
   */
  open(trained: Trained, from?: string): Promise<OpenedModel>;
  /** The adapter that a folder in PEFT format holds, or "full" for a model folder. @throws ModelError if it is neither */
  describe(folder: string): Promise<Trained>;
}

/** A model with weights of its own. */
export interface OpenedModel {
  readonly engine: Engine;
  /** Writes the adapter in PEFT format, or the model in Hugging Face's. */
  saveWeights(folder: string): Promise<void>;
}
