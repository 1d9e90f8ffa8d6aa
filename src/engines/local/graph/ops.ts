import { ShapeError } from "../../../core/errors.ts";
import type { Kernel } from "../machine/device.ts";
import type { Dim, DType, Tensor } from "./graph.ts";

/** The attributes that each operator takes beside its inputs. */
export interface Attributes {
  identity: object;
  add: object;
  sub: object;
  mul: object;
  neg: object;
  exp: object;
  sigmoid: object;
  silu: object;
  gelu: object;
  softmax: object;
  logSoftmax: object;
  matmul: { transA: boolean; transB: boolean; alpha: number };
  int8Product: object;
  reshape: { shape: readonly Dim[] };
  transpose: { permutation: readonly number[] };
  concat: { axis: number };
  split: { axis: number; sizes: readonly number[] };
  sum: { axes: readonly number[]; keepDims: boolean };
  gather: object;
  scatterRows: object;
  addAt: object;
  rmsNormalise: { epsilon: number };
  rotary: object;
  attention: { scale: number };
  attentionProbabilities: { scale: number };
  cachedAttention: { scale: number };
  selectLogprobs: object;
  entropy: object;
}
export type OpName = keyof Attributes;

/** One ONNX node. Attributes: integers, lists of integers, and floats (marked, since 1 is both). */
export interface OnnxNode {
  readonly type: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, OnnxAttribute>>;
  readonly domain?: "com.microsoft";
}
export type OnnxAttribute = { int: number } | { ints: readonly number[] } | { float: number } | { string: string };

/** Where an operator writes its ONNX nodes. */
export interface Lowering {
  emit(node: OnnxNode): void;
  /** A new name for a value inside an operator. */
  temporary(): string;
  /** The name of an int64 vector or a float32 tensor that holds these numbers. */
  integers(values: readonly number[]): string;
  floats(values: Float32Array, shape: readonly number[]): string;
  /** The name of a value that holds the size of a symbolic dimension, as an int64 vector of one. */
  size(dim: string): string;
  /** Whether an input has this symbolic dimension. */
  hasSize(dim: string): boolean;
  /** The name of an earlier value of exactly this shape. */
  like(shape: readonly Dim[]): string | undefined;
  /** Whether the provider that is to run the graph has a kernel; where not, operators are spelled out. */
  has(kernel: Kernel): boolean;
}

interface Operator<A> {
  infer(inputs: readonly Tensor[], attributes: A): readonly { shape: readonly Dim[]; type: DType }[];
  lower(to: Lowering, inputs: readonly Tensor[], outputs: readonly Tensor[], attributes: A): void;
}

const ms = "com.microsoft" as const;
/** Number of the element type in onnx.proto. */
const uint8 = 2;

/** Every operator: the shape of what it makes, and its ONNX nodes (opset 18, and ONNX Runtime's own where they are faster). */
export const ops: { readonly [O in OpName]: Operator<Attributes[O]> } = {
  identity: elementwise("Identity"),
  neg: elementwise("Neg"),
  exp: elementwise("Exp"),
  sigmoid: elementwise("Sigmoid"),
  silu: elementwise("QuickGelu", { alpha: { float: 1 } }, ms),
  gelu: elementwise("FastGelu", {}, ms),
  softmax: elementwise("Softmax", { axis: { int: -1 } }),
  logSoftmax: {
    infer: ([x]) => [{ shape: x.shape, type: x.type }],
    lower: (to, [x], [out]) => logSoftmaxOf(to, x.name, out.name),
  },
  add: broadcasting("Add"),
  sub: broadcasting("Sub"),
  mul: broadcasting("Mul"),

  matmul: {
    infer: ([a, b], { transA, transB }) => {
      const [m, inner] = lastTwo(a, transA);
      const [inner2, n] = lastTwo(b, transB);
      const batch = a.shape.slice(0, -2);
      const sameBatch = b.shape.length === 2 || sameShape(batch, b.shape.slice(0, -2));
      if (inner !== inner2 || !sameBatch) throw misfit("matmul", [a, b]);
      return [{ shape: [...batch, m, n], type: "float32" }];
    },
    lower: (to, [a, b], [out], attributes) =>
      product(to, [a.name, a.shape.length], [b.name, b.shape.length], out.name, attributes),
  },

  /**
   * x [..., K] · (w ∘ s) with an int8 matrix w [K, N] and a scale s [N] for each of its columns. Each row of x is rounded to 8 bits by a scale of its
   * own, the largest of its magnitudes over 127, so no row depends on its neighbours: r = round(127·x/max|x|), and the product of integers is exact.
   */
  int8Product: {
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
  },

  reshape: {
    infer: ([x], { shape }) => [{ shape, type: x.type }],
    lower: (to, [x], [out], { shape }) =>
      to.emit({ type: "Reshape", inputs: [x.name, shapeVector(to, x.shape, shape)], outputs: [out.name] }),
  },

  transpose: {
    infer: ([x], { permutation }) => [{ shape: permutation.map((axis) => x.shape[axis]), type: x.type }],
    lower: (to, [x], [out], { permutation }) =>
      to.emit({ type: "Transpose", inputs: [x.name], outputs: [out.name], attributes: { perm: { ints: permutation } } }),
  },

  concat: {
    infer: (parts, { axis }) => {
      const sizes = parts.map((p) => p.shape[axis]);
      const total = sizes.every((s) => typeof s === "number") ? sizes.reduce((a, b) => a + b, 0) : sizes.join("+");
      return [{ shape: parts[0].shape.with(axis, total), type: parts[0].type }];
    },
    lower: (to, parts, [out], { axis }) =>
      to.emit({ type: "Concat", inputs: parts.map((p) => p.name), outputs: [out.name], attributes: { axis: { int: axis } } }),
  },

  split: {
    infer: ([x], { axis, sizes }) => {
      if (x.shape[axis] !== sizes.reduce((a, b) => a + b, 0)) throw misfit("split", [x]);
      return sizes.map((size) => ({ shape: x.shape.with(axis, size), type: x.type }));
    },
    lower: (to, [x], outputs, { axis, sizes }) =>
      to.emit({
        type: "Split",
        inputs: [x.name, to.integers(sizes)],
        outputs: outputs.map((o) => o.name),
        attributes: { axis: { int: axis } },
      }),
  },

  sum: {
    infer: ([x], { axes, keepDims }) => {
      const summed = x.shape.map((dim, axis) => (axes.includes(axis) ? 1 : dim));
      return [{ shape: keepDims ? summed : summed.filter((_, axis) => !axes.includes(axis)), type: x.type }];
    },
    lower: (to, [x], [out], { axes, keepDims }) =>
      to.emit({
        type: "ReduceSum",
        inputs: [x.name, to.integers(axes)],
        outputs: [out.name],
        attributes: { keepdims: { int: +keepDims } },
      }),
  },

  gather: {
    infer: ([table, ids]) => [{ shape: [...ids.shape, ...table.shape.slice(1)], type: table.type }],
    lower: (to, [table, ids], [out]) =>
      to.emit({ type: "Gather", inputs: [table.name, ids.name], outputs: [out.name], attributes: { axis: { int: 0 } } }),
  },

  /** Adds updates [M, D] at the rows that ids [M, 1] name to a matrix of zeros, of the shape of the third input. */
  scatterRows: {
    infer: ([ids, updates, like]) => {
      const fits = ids.shape.length === 2 && ids.shape[0] === updates.shape[0] && like.shape[1] === updates.shape[1];
      if (!fits) throw misfit("scatterRows", [ids, updates, like]);
      return [{ shape: like.shape, type: "float32" }];
    },
    // Not ScatterND: with reduction="add" and repeated indices that is a data race on the CPU (onnxruntime 1.30, 1.31).
    lower: (to, [ids, updates, like], [out]) => {
      const [updatesShape, indices, zerosShape, zeros] = [to.temporary(), to.temporary(), to.temporary(), to.temporary()];
      to.emit({ type: "Shape", inputs: [updates.name], outputs: [updatesShape] });
      to.emit({ type: "Expand", inputs: [ids.name, updatesShape], outputs: [indices] });
      to.emit({ type: "Shape", inputs: [like.name], outputs: [zerosShape] });
      if (to.has("ConstantOfShape")) to.emit({ type: "ConstantOfShape", inputs: [zerosShape], outputs: [zeros] });
      else to.emit({ type: "Expand", inputs: [to.floats(Float32Array.of(0), [1, 1]), zerosShape], outputs: [zeros] });
      scatterAdd(to, [zeros, indices, updates.name], out.name, 0);
    },
  },

  /** x [M, V] with values [M, 1] added at the columns that ids [M, 1] name. */
  addAt: {
    infer: ([x]) => [{ shape: x.shape, type: x.type }],
    lower: (to, [x, ids, values], [out]) => scatterAdd(to, [x.name, ids.name, values.name], out.name, 1),
  },

  /** Also gives 1/sqrt(mean(x²) + ε), which the backward half needs. */
  rmsNormalise: {
    infer: ([x]) => [
      { shape: x.shape, type: "float32" },
      { shape: x.shape.with(-1, 1), type: "float32" },
    ],
    lower: (to, [x], [out, inverse], { epsilon }) => {
      const size = x.shape[x.shape.length - 1];
      if (typeof size !== "number") throw misfit("rmsNormalise", [x]);
      const ones = to.floats(new Float32Array(size).fill(1), [size]);
      const hasInverse = to.has("InverseDeviation");
      to.emit({
        type: "SimplifiedLayerNormalization",
        inputs: [x.name, ones],
        outputs: hasInverse ? [out.name, inverse.name] : [out.name],
        attributes: { axis: { int: -1 }, epsilon: { float: epsilon } },
      });
      if (hasInverse) return;
      const [squares, mean, shifted, deviation] = Array.from({ length: 4 }, () => to.temporary());
      to.emit({ type: "Mul", inputs: [x.name, x.name], outputs: [squares] });
      to.emit({ type: "ReduceMean", inputs: [squares, to.integers([-1])], outputs: [mean] });
      to.emit({ type: "Add", inputs: [mean, to.floats(Float32Array.of(epsilon), [1])], outputs: [shifted] });
      to.emit({ type: "Sqrt", inputs: [shifted], outputs: [deviation] });
      to.emit({ type: "Reciprocal", inputs: [deviation], outputs: [inverse.name] });
    },
  },

  rotary: {
    infer: ([x]) => [{ shape: x.shape, type: "float32" }],
    lower: (to, [x, positions, cosine, sine], [out]) =>
      to.emit({
        type: "RotaryEmbedding",
        domain: ms,
        inputs: [x.name, positions.name, cosine.name, sine.name],
        outputs: [out.name],
        attributes: { interleaved: { int: 0 } },
      }),
  },

  /** Also gives the probabilities [B, H, T, S], which the backward half needs. */
  attention: {
    infer: ([q, k, v, mask]) => {
      const [rows, heads, tokens] = q.shape;
      checkHeads("attention", q, k, v);
      return [
        { shape: q.shape, type: "float32" },
        { shape: [rows, heads, tokens, mask.shape[3]], type: "float32" },
      ];
    },
    lower: (to, [q, k, v, mask], [out, probabilities], { scale }) => {
      const scores = groupedScores(to, q, k, scale);
      softmaxOf(to, scores, mask, probabilities.name);
      const product = to.temporary();
      const grouped = to.temporary();
      to.emit({ type: "Reshape", inputs: [probabilities.name, to.integers([0, heads(k), -1, 0])], outputs: [grouped] });
      to.emit({ type: "MatMul", inputs: [grouped, v.name], outputs: [product] });
      to.emit({ type: "Reshape", inputs: [product, to.integers([0, heads(q), -1, 0])], outputs: [out.name] });
    },
  },

  /** The probabilities [B, H, T, S] of `attention` alone. */
  attentionProbabilities: {
    infer: ([q, k, mask]) => {
      checkHeads("attentionProbabilities", q, k, k);
      return [{ shape: [...q.shape.slice(0, 3), mask.shape[3]], type: "float32" }];
    },
    lower: (to, [q, k, mask], [out], { scale }) => softmaxOf(to, groupedScores(to, q, k, scale), mask, out.name),
  },

  /**
   * Attention to cached keys and values [B, Hk, S, size] and to the new ones [B, Hk, T, size] at once; mask [B, 1, T, S+T].
   * The new scores join the softmax by concatenation: outputs of a session are copied, so the cache must not pass through it.
   */
  cachedAttention: {
    infer: ([q, k, v]) => {
      checkHeads("cachedAttention", q, k, v);
      return [{ shape: q.shape, type: "float32" }];
    },
    // A product with one row is a pass over the matrix as it lies; with two it is first copied into panels. So heads that share keys
    // are not stacked here, and the scale goes onto the query, since only α = 1 takes that way.
    lower: (to, [q, k, v, cachedK, cachedV, mask], [out], { scale }) => {
      const grouping = to.integers([0, heads(k), heads(q) / heads(k), -1, Number(q.shape[3])]);
      const [scaled, queries, keys, values] = [to.temporary(), to.temporary(), to.temporary(), to.temporary()];
      to.emit({ type: "Mul", inputs: [q.name, to.floats(Float32Array.of(scale), [1])], outputs: [scaled] });
      to.emit({ type: "Reshape", inputs: [scaled, grouping], outputs: [queries] });
      to.emit({ type: "Unsqueeze", inputs: [k.name, to.integers([2])], outputs: [keys] });
      to.emit({ type: "Unsqueeze", inputs: [v.name, to.integers([2])], outputs: [values] });
      const [oldScores, newScores, scores] = [to.temporary(), to.temporary(), to.temporary()];
      product(to, [queries, 5], [cachedK.name, 5], oldScores, { transB: true });
      product(to, [queries, 5], [keys, 5], newScores, { transB: true });
      to.emit({ type: "Concat", inputs: [oldScores, newScores], outputs: [scores], attributes: { axis: { int: 4 } } });
      const probabilities = to.temporary();
      softmaxOf(to, scores, mask, probabilities);
      const [old, fresh] = [to.temporary(), to.temporary()];
      const cached = to.size(String(cachedK.shape[3]));
      const axis = to.integers([4]);
      to.emit({ type: "Slice", inputs: [probabilities, to.integers([0]), cached, axis], outputs: [old] });
      to.emit({ type: "Slice", inputs: [probabilities, cached, to.integers([2 ** 40]), axis], outputs: [fresh] });
      const [a, b, sum] = [to.temporary(), to.temporary(), to.temporary()];
      to.emit({ type: "MatMul", inputs: [old, cachedV.name], outputs: [a] });
      to.emit({ type: "MatMul", inputs: [fresh, values], outputs: [b] });
      to.emit({ type: "Add", inputs: [a, b], outputs: [sum] });
      to.emit({ type: "Reshape", inputs: [sum, to.integers([0, heads(q), -1, Number(q.shape[3])])], outputs: [out.name] });
    },
  },

  /** Also gives the whole log softmax [M, V], which the backward half needs. */
  selectLogprobs: {
    infer: ([logits, targets]) => [
      { shape: targets.shape, type: "float32" },
      { shape: logits.shape, type: "float32" },
    ],
    lower: (to, [logits, targets], [out, all]) => {
      logSoftmaxOf(to, logits.name, all.name);
      to.emit({
        type: "GatherElements",
        inputs: [all.name, targets.name],
        outputs: [out.name],
        attributes: { axis: { int: 1 } },
      });
    },
  },

  /** Also gives the log softmax [M, V], which the backward half needs; ONNX Runtime computes it once if `selectLogprobs` does too. */
  entropy: {
    infer: ([logits]) => [
      { shape: logits.shape.with(-1, 1), type: "float32" },
      { shape: logits.shape, type: "float32" },
    ],
    lower: (to, [logits], [out, all]) => {
      const [probabilities, products, sum] = [to.temporary(), to.temporary(), to.temporary()];
      logSoftmaxOf(to, logits.name, all.name);
      to.emit({ type: "Exp", inputs: [all.name], outputs: [probabilities] });
      to.emit({ type: "Mul", inputs: [probabilities, all.name], outputs: [products] });
      to.emit({ type: "ReduceSum", inputs: [products, to.integers([-1])], outputs: [sum] });
      to.emit({ type: "Neg", inputs: [sum], outputs: [out.name] });
    },
  },
};

function elementwise(type: string, attributes: Record<string, OnnxAttribute> = {}, domain?: "com.microsoft"): Operator<object> {
  return {
    infer: ([x]) => [{ shape: x.shape, type: x.type }],
    lower: (to, [x], [out]) => to.emit({ type, domain, attributes, inputs: [x.name], outputs: [out.name] }),
  };
}

function broadcasting(type: string): Operator<object> {
  return {
    infer: ([a, b]) => [{ shape: broadcastShape(type, a, b), type: a.type }],
    lower: (to, [a, b], [out]) => to.emit({ type, inputs: [a.name, b.name], outputs: [out.name] }),
  };
}

function broadcastShape(type: string, a: Tensor, b: Tensor): Dim[] {
  const rank = Math.max(a.shape.length, b.shape.length);
  const pad = (t: Tensor): Dim[] => [...Array<Dim>(rank - t.shape.length).fill(1), ...t.shape];
  const [left, right] = [pad(a), pad(b)];
  return left.map((dim, i) => {
    if (dim === right[i] || right[i] === 1) return dim;
    if (dim === 1) return right[i];
    throw misfit(type, [a, b]);
  });
}

/** A target for Reshape: sizes that stay in place are copied (0), one may be left to be worked out (-1), others are read off inputs. */
function shapeVector(to: Lowering, from: readonly Dim[], shape: readonly Dim[]): string {
  const moved = shape.filter((dim, i) => typeof dim === "string" && dim !== from[i]);
  const derived = moved.find((dim) => !to.hasSize(String(dim))) ?? moved.at(-1);
  const sizes = shape.map((dim, i) => (typeof dim === "number" ? dim : dim === from[i] ? 0 : dim === derived ? -1 : dim));
  if (sizes.every((size) => typeof size === "number")) return to.integers(sizes);
  const vector = to.temporary();
  const like = to.has("SizeVector") ? undefined : to.like(shape);
  if (like !== undefined) {
    to.emit({ type: "Shape", inputs: [like], outputs: [vector] });
    return vector;
  }
  const parts = sizes.map((size) => (typeof size === "number" ? to.integers([size]) : to.size(size)));
  to.emit({ type: "Concat", inputs: parts, outputs: [vector], attributes: { axis: { int: 0 } } });
  return vector;
}

/**
 * α · a·b over the last two axes, either transposed first. Operands are names with their numbers of axes, which agree or of which b has 2.
 * One kernel where there is FusedMatMul. Elsewhere Gemm for matrices, and a transposed copy and a scale around a plain product for more axes.
 */
function product(
  to: Lowering,
  [a, rankA]: readonly [string, number],
  [b, rankB]: readonly [string, number],
  out: string,
  { transA = false, transB = false, alpha = 1 }: Partial<Attributes["matmul"]>,
): void {
  const plain = !transA && !transB && alpha === 1;
  const attributes = { transA: { int: +transA }, transB: { int: +transB }, alpha: { float: alpha } };
  if (plain) to.emit({ type: "MatMul", inputs: [a, b], outputs: [out] });
  else if (to.has("FusedMatMul")) to.emit({ type: "FusedMatMul", domain: ms, inputs: [a, b], outputs: [out], attributes });
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

/** Over the last axis: x − max x − log Σ exp(x − max x), where there is no kernel for it. */
function logSoftmaxOf(to: Lowering, x: string, out: string): void {
  if (to.has("LogSoftmax")) {
    to.emit({ type: "LogSoftmax", inputs: [x], outputs: [out], attributes: { axis: { int: -1 } } });
    return;
  }
  const [peak, shifted, powers, sum, log] = Array.from({ length: 5 }, () => to.temporary());
  const last = to.integers([-1]);
  to.emit({ type: "ReduceMax", inputs: [x, last], outputs: [peak] });
  to.emit({ type: "Sub", inputs: [x, peak], outputs: [shifted] });
  to.emit({ type: "Exp", inputs: [shifted], outputs: [powers] });
  to.emit({ type: "ReduceSum", inputs: [powers, last], outputs: [sum] });
  to.emit({ type: "Log", inputs: [sum], outputs: [log] });
  to.emit({ type: "Sub", inputs: [shifted, log], outputs: [out] });
}

/** scale · q·kᵀ as [B, H, T, S]. Heads that share keys are stacked into taller matrices, so that keys are never repeated. */
function groupedScores(to: Lowering, q: Tensor, k: Tensor, scale: number): string {
  const [tall, grouped, scores] = [to.temporary(), to.temporary(), to.temporary()];
  to.emit({ type: "Reshape", inputs: [q.name, to.integers([0, heads(k), -1, 0])], outputs: [tall] });
  product(to, [tall, 4], [k.name, 4], grouped, { transB: true, alpha: scale });
  to.emit({ type: "Reshape", inputs: [grouped, to.integers([0, heads(q), -1, 0])], outputs: [scores] });
  return scores;
}

function softmaxOf(to: Lowering, scores: string, mask: Tensor, out: string): void {
  const masked = to.temporary();
  to.emit({ type: "Add", inputs: [scores, mask.name], outputs: [masked] });
  to.emit({ type: "Softmax", inputs: [masked], outputs: [out], attributes: { axis: { int: -1 } } });
}

function scatterAdd(to: Lowering, inputs: readonly string[], out: string, axis: number): void {
  const attributes = { axis: { int: axis }, reduction: { string: "add" } };
  to.emit({ type: "ScatterElements", inputs, outputs: [out], attributes });
}

function heads(x: Tensor): number {
  const count = x.shape[1];
  if (typeof count !== "number") throw misfit("attention", [x]);
  return count;
}

function checkHeads(op: string, q: Tensor, k: Tensor, v: Tensor): void {
  const fits = heads(q) % heads(k) === 0 && q.shape[3] === k.shape[3] && sameShape(k.shape, v.shape);
  if (!fits) throw misfit(op, [q, k, v]);
}

function lastTwo({ shape }: Tensor, transposed: boolean): [Dim, Dim] {
  const [rows, columns] = shape.slice(-2);
  return transposed ? [columns, rows] : [rows, columns];
}

function sameShape(a: readonly Dim[], b: readonly Dim[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

function misfit(op: string, tensors: readonly Tensor[]): ShapeError {
  return new ShapeError(op, tensors.map((t) => `${t.name}[${t.shape.join(", ")}]`).join(" with "), {
    expected: "shapes that fit each other",
  });
}
