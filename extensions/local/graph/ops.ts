import { attention, attentionProbabilities, cachedAttention, causalMask } from "./attention.ts";
import { columnAttention, drawTokens, pick, rowInputs, scatterLast, zeros } from "./decoding.ts";
import { entropy, logSoftmax, selectLogprobs } from "./logprobs.ts";
import { type Lowering, misfit, ms, type OnnxAttribute, type Operator } from "./operator.ts";
import { int4Product, int8Product, matmul, type ProductAttributes } from "./products.ts";
import type { Dim, Tensor } from "./tensor.ts";

/** The attributes that each operator takes beside its inputs. */
export interface Attributes {
  identity: object;
  add: object;
  sub: object;
  mul: object;
  div: object;
  neg: object;
  exp: object;
  sqrt: object;
  relu: object;
  sigmoid: object;
  silu: object;
  gelu: object;
  softmax: object;
  logSoftmax: object;
  matmul: ProductAttributes;
  int8Product: object;
  int4Product: { outputs: number };
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
  causalMask: { window?: number };
  columnAttention: { scale: number };
  rowInputs: { heads: number; size: number; window?: number };
  drawTokens: object;
  pick: object;
  scatterLast: object;
  zeros: { shape: readonly Dim[] };
  selectLogprobs: object;
  entropy: object;
}
export type OpName = keyof Attributes;

/** Every operator: the shape of what it makes, and its ONNX nodes (opset 18, and ONNX Runtime's own where they are faster). */
export const ops: { readonly [O in OpName]: Operator<Attributes[O]> } = {
  identity: elementwise("Identity"),
  neg: elementwise("Neg"),
  exp: elementwise("Exp"),
  sqrt: elementwise("Sqrt"),
  relu: elementwise("Relu"),
  sigmoid: elementwise("Sigmoid"),
  silu: elementwise("QuickGelu", { alpha: { float: 1 } }, ms),
  gelu: elementwise("FastGelu", {}, ms),
  softmax: elementwise("Softmax", { axis: { int: -1 } }),
  logSoftmax,
  add: broadcasting("Add"),
  sub: broadcasting("Sub"),
  mul: broadcasting("Mul"),
  div: broadcasting("Div"),
  matmul,
  int8Product,
  int4Product,
  attention,
  attentionProbabilities,
  cachedAttention,
  causalMask,
  columnAttention,
  rowInputs,
  drawTokens,
  pick,
  scatterLast,
  zeros,
  selectLogprobs,
  entropy,

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

function scatterAdd(to: Lowering, inputs: readonly string[], out: string, axis: number): void {
  const attributes = { axis: { int: axis }, reduction: { string: "add" } };
  to.emit({ type: "ScatterElements", inputs, outputs: [out], attributes });
}
