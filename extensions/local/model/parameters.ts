import type { Tensor } from "../graph/tensor.ts";

/** A parameter by its Hugging Face name. */
export type Parameters = (name: string) => Tensor;
