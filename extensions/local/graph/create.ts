import type { InferenceSession } from "onnxruntime-common";
import { type Precision, type Provider, providerOptions } from "../machine/device.ts";
import type { Runtime, RuntimeSession } from "../machine/runtime.ts";

export interface CreateOptions
  extends Pick<InferenceSession.SessionOptions, "enableCpuMemArena" | "enableMemPattern" | "externalData"> {
  readonly threads: number;
  /** Whether runs of one binding are recorded on the device and replayed. Default false. */
  readonly captured?: boolean;
  readonly precision?: Precision;
}

/** A session of a model in protobuf. */
export function create<S extends RuntimeSession>(
  runtime: Pick<Runtime<S>, "InferenceSession">,
  model: Uint8Array,
  provider: Provider,
  { threads, captured = false, precision, ...options }: CreateOptions,
): Promise<S> {
  return runtime.InferenceSession.create(model, {
    ...options,
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 4,
    ...providerOptions(provider, captured, precision),
  });
}
