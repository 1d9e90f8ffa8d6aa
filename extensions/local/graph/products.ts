import { type Lowering, misfit, ms, type Operator, sameShape } from "./operator.ts";
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
      return product(to, [a.name, a.shape.length], [b.name, b.shape.length], attributes, out.name);
    const flat = to.node("Reshape", [a.name, to.integers([-1, Number(inner)])]);
    const made = product(to, [flat, 2], [b.name, 2], attributes);
    return to.node("Reshape", [made, to.integers([-1, 1, Number(n)])], {}, out.name);
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
    const largest = to.node("ReduceMax", [to.node("Abs", [x.name]), to.integers([-1])]);
    // A row of zeros has no scale of its own.
    const scale = to.node("Div", [to.node("Max", [largest, to.number(1e-30)]), to.number(127)]);
    const rounded = to.node("Round", [to.node("Div", [x.name, scale])]);
    const bytes = to.node("Cast", [to.node("Add", [rounded, to.number(128)])], { to: { int: uint8 } });
    const zero = to.node("Cast", [to.number(128)], { to: { int: uint8 } });
    const product = to.node("MatMulInteger", [bytes, w.name, to.node("Squeeze", [zero])]);
    const scaled = to.node("Mul", [to.node("Cast", [product], { to: { int: 1 } }), s.name]);
    to.node("Mul", [scaled, scale], {}, out.name);
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
 * @returns the product's name: `out`, or a new one
 */
export function product(
  to: Lowering,
  [a, rankA]: readonly [string, number],
  [b, rankB]: readonly [string, number],
  { transA = false, transB = false, alpha = 1, exact = false }: Partial<ProductAttributes>,
  out = to.temporary(),
): string {
  const plain = !transA && !transB && alpha === 1;
  const attributes = { transA: { int: +transA }, transB: { int: +transB }, alpha: { float: alpha } };
  if (plain) to.emit({ type: "MatMul", inputs: [a, b], outputs: [out], exact });
  else if (to.has("FusedMatMul")) to.emit({ type: "FusedMatMul", domain: ms, inputs: [a, b], outputs: [out], attributes, exact });
  else if (rankA === 2 && rankB === 2) to.node("Gemm", [a, b], attributes, out);
  else {
    const inputs = [transA ? transposed(to, a, rankA) : a, transB ? transposed(to, b, rankB) : b];
    if (alpha === 1) to.node("MatMul", inputs, {}, out);
    else to.node("Mul", [to.node("MatMul", inputs), to.number(alpha)], {}, out);
  }
  return out;
}

/** With the last two axes swapped. */
function transposed(to: Lowering, x: string, rank: number): string {
  const perm = Array.from({ length: rank }, (_, axis) => axis);
  perm.push(...perm.splice(-2).reverse());
  return to.node("Transpose", [x], { perm: { ints: perm } });
}

function lastTwo({ shape }: Tensor, transposed: boolean): [Dim, Dim] {
  const [rows, columns] = shape.slice(-2);
  return transposed ? [columns, rows] : [rows, columns];
}
