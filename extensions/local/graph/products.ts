import { type Lowering, misfit, ms, type OnnxAttribute, type Operator, sameShape } from "./operator.ts";
import type { Dim, Tensor } from "./tensor.ts";

export interface ProductAttributes {
  readonly transA: boolean;
  readonly transB: boolean;
  readonly alpha: number;
  /** As `OnnxNode.exact`. */
  readonly exact?: boolean;
}

/** Inputs of an output that share a scale in 4 bits. */
export const int4Block = 32;
/** Number of the element type in onnx.proto. */
const uint8 = 2;

export const matmul: Operator<ProductAttributes> = {
  infer: ([a, b], { transA, transB }) => {
    const [m, inner] = lastTwo(a, transA);
    const [inner2, n] = lastTwo(b, transB);
    const batch = a.shape.slice(0, -2);
    const sameBatch = b.shape.length === 2 || sameShape(batch, b.shape.slice(0, -2));
    if (inner !== inner2 || !sameBatch) throw misfit("matmul", [a, b]);
    return [{ shape: [...batch, m, n], type: "float32" }];
  },
  lower: (to, [a, b], [out], attributes) => {
    const [inner, n] = lastTwo(b, attributes.transB);
    // A single token a row: a matrix, for the kernel that takes the other factor as it lies.
    const isFlat = a.shape.length === 3 && a.shape[1] === 1 && b.shape.length === 2 && !attributes.transA;
    if (to.has("FusedMatMul") || !isFlat || !attributes.transB)
      return product(to, [a.name, a.shape.length], [b.name, b.shape.length], out.name, attributes);
    const [flat, made] = [to.temporary(), to.temporary()];
    to.emit({ type: "Reshape", inputs: [a.name, to.integers([-1, Number(inner)])], outputs: [flat] });
    product(to, [flat, 2], [b.name, 2], made, attributes);
    to.emit({ type: "Reshape", inputs: [made, to.integers([-1, 1, Number(n)])], outputs: [out.name] });
  },
};

/**
 * x [..., K] · (w ∘ s) with an int8 matrix w [K, N] and a scale s [N] for each of its columns. Each row of x is rounded to 8 bits by a scale of its
 * own, the largest of its magnitudes over 127, so no row depends on its neighbours: r = round(127·x/max|x|), and the product of integers is exact.
 */
export const int8Product: Operator<object> = {
  infer: ([x, w, s]) => {
    const [inner, n] = w.shape;
    if (x.shape.at(-1) !== inner || s.shape.length !== 1 || s.shape[0] !== n) throw misfit("int8Product", [x, w, s]);
    return [{ shape: x.shape.with(-1, n), type: "float32" }];
  },
  lower: (to, [x, w, s], [out]) => {
    const step = (type: string, inputs: readonly string[], attributes?: Record<string, OnnxAttribute>): string => {
      const made = to.temporary();
      to.emit({ type, inputs, outputs: [made], attributes });
      return made;
    };
    const number = (value: number) => to.floats(Float32Array.of(value), [1]);
    const largest = step("ReduceMax", [step("Abs", [x.name]), to.integers([-1])]);
    // A row of zeros has no scale of its own.
    const scale = step("Div", [step("Max", [largest, number(1e-30)]), number(127)]);
    const rounded = step("Round", [step("Div", [x.name, scale])]);
    const bytes = step("Cast", [step("Add", [rounded, number(128)])], { to: { int: uint8 } });
    const zero = step("Cast", [number(128)], { to: { int: uint8 } });
    const product = step("MatMulInteger", [bytes, w.name, step("Squeeze", [zero])]);
    const scaled = step("Mul", [step("Cast", [product], { to: { int: 1 } }), s.name]);
    to.emit({ type: "Mul", inputs: [scaled, scale], outputs: [out.name] });
  },
};

/**
 * x [..., K] · Wᵀ with a matrix W [N, K] in 4 bits: packed [N, blocks, 16] and scales [N · blocks]. Activations are rounded to 8 bits inside, by a scale
 * for each block of a row.
 */
export const int4Product: Operator<{ outputs: number }> = {
  infer: ([x, w, s], { outputs }) => {
    const [n, blocks] = w.shape;
    const inner = Number(x.shape.at(-1));
    if (n !== outputs || blocks !== Math.ceil(inner / int4Block) || s.shape[0] !== outputs * blocks)
      throw misfit("int4Product", [x, w, s]);
    return [{ shape: x.shape.with(-1, outputs), type: "float32" }];
  },
  lower: (to, [x, w, s], [out], { outputs }) => {
    const sizes = { K: { int: Number(x.shape.at(-1)) }, N: { int: outputs }, bits: { int: 4 }, block_size: { int: int4Block } };
    const attributes = { ...sizes, accuracy_level: { int: roundedActivations } };
    to.emit({ type: "MatMulNBits", domain: ms, inputs: [x.name, w.name, s.name], outputs: [out.name], attributes });
  },
};

/** ONNX Runtime's accuracy level in which activations are rounded to 8 bits. */
const roundedActivations = 4;

/**
 * α · a·b over the last two axes, either transposed first. Operands are names with their numbers of axes, which agree or of which b has 2.
 * One kernel where there is FusedMatMul. Elsewhere Gemm for matrices, and a transposed copy and a scale around a plain product for more axes.
 */
export function product(
  to: Lowering,
  [a, rankA]: readonly [string, number],
  [b, rankB]: readonly [string, number],
  out: string,
  { transA = false, transB = false, alpha = 1, exact = false }: Partial<ProductAttributes>,
): void {
  const plain = !transA && !transB && alpha === 1;
  const attributes = { transA: { int: +transA }, transB: { int: +transB }, alpha: { float: alpha } };
  if (plain) to.emit({ type: "MatMul", inputs: [a, b], outputs: [out], exact });
  else if (to.has("FusedMatMul")) to.emit({ type: "FusedMatMul", domain: ms, inputs: [a, b], outputs: [out], attributes, exact });
  else if (rankA === 2 && rankB === 2) to.emit({ type: "Gemm", inputs: [a, b], outputs: [out], attributes });
  else {
    const inputs = [transA ? transposed(to, a, rankA) : a, transB ? transposed(to, b, rankB) : b];
    const unscaled = alpha === 1 ? out : to.temporary();
    to.emit({ type: "MatMul", inputs, outputs: [unscaled] });
    if (alpha !== 1) to.emit({ type: "Mul", inputs: [unscaled, to.floats(Float32Array.of(alpha), [1])], outputs: [out] });
  }
}

/** With the last two axes swapped. */
function transposed(to: Lowering, x: string, rank: number): string {
  const out = to.temporary();
  const perm = Array.from({ length: rank }, (_, axis) => axis);
  perm.push(...perm.splice(-2).reverse());
  to.emit({ type: "Transpose", inputs: [x], outputs: [out], attributes: { perm: { ints: perm } } });
  return out;
}

function lastTwo({ shape }: Tensor, transposed: boolean): [Dim, Dim] {
  const [rows, columns] = shape.slice(-2);
  return transposed ? [columns, rows] : [rows, columns];
}
