import type { ModelConfig } from "../model/model-config.ts";
import type { Pass } from "../training/passes.ts";
import type { Layout } from "./flat.ts";

/** The settings of a worker's thread. */
export interface WorkerSettings {
  readonly config: ModelConfig;
  readonly learned: Layout;
  readonly frozen: { readonly layout: Layout; readonly memory: SharedArrayBuffer };
  readonly recompute: boolean | undefined;
  readonly passBytes: number | undefined;
}

export type Task =
  | {
      readonly kind: "passes";
      readonly passes: readonly Pass[];
      /** The parameters that learn, as they are now. */
      readonly learned: SharedArrayBuffer;
      /** Where the gradient is written, to come back. Whatever it holds counts as zeros. Undefined for passes without weights. */
      readonly gradient: ArrayBuffer | undefined;
    }
  | { readonly kind: "rest" };

/** To a worker. Each is answered, in order. */
export interface Question {
  readonly id: number;
  readonly task: Task;
}

/** From a worker. */
export interface Answer {
  readonly id: number;
  readonly numbers?: readonly Float32Array[];
  readonly gradient?: ArrayBuffer;
  readonly error?: Failure;
}

/** An error in a form that crosses threads. */
export interface Failure {
  readonly subject: string;
  readonly value: string;
  readonly expected?: string;
  readonly hint?: string;
}
