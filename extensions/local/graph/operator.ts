import { ShapeError } from "../../../src/core/errors.ts";
import type { Kernel } from "../machine/device.ts";
import type { Dim, DType, Tensor } from "./tensor.ts";

/** One ONNX node. Attributes: integers, lists of integers, and floats (marked, since 1 is both). */
export interface OnnxNode {
  readonly type: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, OnnxAttribute>>;
  readonly domain?: "com.microsoft";
  /** The operator of the graph that it is of, for profiles. */
  readonly of?: string;
  /** A product that is not rounded to bfloat16, only to TF32: to cast its factors would be to copy a cache, or the scores of all tokens. */
  readonly exact?: boolean;
}
export type OnnxAttribute = { int: number } | { ints: readonly number[] } | { float: number } | { string: string };

/** Where an operator writes its ONNX nodes. */
export interface Lowering {
  emit(node: OnnxNode): void;
  /** Writes a node that makes one value. @returns its name: `out`, or a new one */
  node(type: string, inputs: readonly string[], attributes?: Readonly<Record<string, OnnxAttribute>>, out?: string): string;
  /** A new name for a value inside an operator. */
  temporary(): string;
  /** The name of an int64 vector or a float32 tensor that holds these numbers. */
  integers(values: readonly number[]): string;
  floats(values: Float32Array, shape: readonly number[]): string;
  /** The same of one number, [1]. */
  number(value: number): string;
  /** The name of a value that holds the size of a symbolic dimension, as an int64 vector of one. */
  size(dim: string): string;
  /** Whether an input has this symbolic dimension. */
  hasSize(dim: string): boolean;
  /** The name of an earlier value of exactly this shape. */
  like(shape: readonly Dim[]): string | undefined;
  /** Whether the provider that is to run the graph has a kernel; where not, operators are spelled out. */
  has(kernel: Kernel): boolean;
}

/** The shape of what an operator makes, and its ONNX nodes. */
export interface Operator<A> {
  infer(inputs: readonly Tensor[], attributes: A): readonly { shape: readonly Dim[]; type: DType }[];
  lower(to: Lowering, inputs: readonly Tensor[], outputs: readonly Tensor[], attributes: A): void;
}

/** The number that is added to the score of a token that is not seen: far below any score, and far above the smallest float32. */
export const unseen = -1e9;

/** The domain of ONNX Runtime's own operators. */
export const ms = "com.microsoft" as const;

export function sameShape(a: readonly Dim[], b: readonly Dim[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

export function misfit(op: string, tensors: readonly Tensor[]): ShapeError {
  return new ShapeError(op, tensors.map((t) => `${t.name}[${t.shape.join(", ")}]`).join(" with "), {
    expected: "shapes that fit each other",
  });
}
