import { attention, attentionProbabilities, cachedAttention, causalMask } from "./attention.ts";
import { columnAttention, drawTokens, pick, rowInputs, scatterLast, zeros } from "./decoding.ts";
import { entropy, logSoftmax, selectLogprobs } from "./logprobs.ts";
import { type Lowering, misfit, ms, type OnnxAttribute, type Operator } from "./operator.ts";
import { int4Product, int8Product, matmul } from "./products.ts";
import type { Dim, Tensor } from "./tensor.ts";

/** Every operator: the shape of what it makes, and its ONNX nodes (opset 18, and ONNX Runtime's own where they are faster). */
const table = {
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

  reshape: operator<{ shape: readonly Dim[] }>({
    infer: ([x], { shape }) => [{ shape, type: x.type }],
    lower: (to, [x], [out], { shape }) => to.node("Reshape", [x.name, shapeVector(to, x.shape, shape)], {}, out.name),
  }),

  transpose: operator<{ permutation: readonly number[] }>({
    infer: ([x], { permutation }) => [{ shape: permutation.map((axis) => x.shape[axis]), type: x.type }],
    lower: (to, [x], [out], { permutation }) => to.node("Transpose", [x.name], { perm: { ints: permutation } }, out.name),
  }),

  concat: operator<{ axis: number }>({
    infer: (parts, { axis }) => {
      const sizes = parts.map((p) => p.shape[axis]);
      const total = sizes.every((s) => typeof s === "number") ? sizes.reduce((a, b) => a + b, 0) : sizes.join("+");
      return [{ shape: parts[0].shape.with(axis, total), type: parts[0].type }];
    },
    lower: (to, parts, [out], { axis }) => {
      const names = parts.map((part) => part.name);
      to.node("Concat", names, { axis: { int: axis } }, out.name);
    },
  }),

  split: operator<{ axis: number; sizes: readonly number[] }>({
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
  }),

  sum: operator<{ axes: readonly number[]; keepDims: boolean }>({
    infer: ([x], { axes, keepDims }) => {
      const summed = x.shape.map((dim, axis) => (axes.includes(axis) ? 1 : dim));
      return [{ shape: keepDims ? summed : summed.filter((_, axis) => !axes.includes(axis)), type: x.type }];
    },
    lower: (to, [x], [out], { axes, keepDims }) =>
      to.node("ReduceSum", [x.name, to.integers(axes)], { keepdims: { int: +keepDims } }, out.name),
  }),

  gather: operator<object>({
    infer: ([table, ids]) => [{ shape: [...ids.shape, ...table.shape.slice(1)], type: table.type }],
    lower: (to, [table, ids], [out]) => to.node("Gather", [table.name, ids.name], { axis: { int: 0 } }, out.name),
  }),

  /** Adds updates [M, D] at the rows that ids [M, 1] name to a matrix of zeros, of the shape of the third input. */
  scatterRows: operator<object>({
    infer: ([ids, updates, like]) => {
      const fits = ids.shape.length === 2 && ids.shape[0] === updates.shape[0] && like.shape[1] === updates.shape[1];
      if (!fits) throw misfit("scatterRows", [ids, updates, like]);
      return [{ shape: like.shape, type: "float32" }];
    },
    // Not ScatterND: with reduction="add" and repeated indices that is a data race on the CPU (onnxruntime 1.30, 1.31).
    lower: (to, [ids, updates, like], [out]) => {
      const indices = to.node("Expand", [ids.name, to.node("Shape", [updates.name])]);
      const shape = to.node("Shape", [like.name]);
      const zeros = to.has("ConstantOfShape")
        ? to.node("ConstantOfShape", [shape])
        : to.node("Expand", [to.floats(Float32Array.of(0), [1, 1]), shape]);
      scatterAdd(to, [zeros, indices, updates.name], out.name, 0);
    },
  }),

  /** x [M, V] with values [M, 1] added at the columns that ids [M, 1] name. */
  addAt: operator<object>({
    infer: ([x]) => [{ shape: x.shape, type: x.type }],
    lower: (to, [x, ids, values], [out]) => scatterAdd(to, [x.name, ids.name, values.name], out.name, 1),
  }),

  /** Also gives 1/sqrt(mean(x²) + ε), which the backward half needs. */
  rmsNormalise: operator<{ epsilon: number }>({
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
      const mean = to.node("ReduceMean", [to.node("Mul", [x.name, x.name]), to.integers([-1])]);
      const deviation = to.node("Sqrt", [to.node("Add", [mean, to.number(epsilon)])]);
      to.node("Reciprocal", [deviation], {}, inverse.name);
    },
  }),

  rotary: operator<object>({
    infer: ([x]) => [{ shape: x.shape, type: "float32" }],
    lower: (to, [x, positions, cosine, sine], [out]) =>
      to.emit({
        type: "RotaryEmbedding",
        domain: ms,
        inputs: [x.name, positions.name, cosine.name, sine.name],
        outputs: [out.name],
        attributes: { interleaved: { int: 0 } },
      }),
  }),
};

export type OpName = keyof typeof table;
/** The attributes that each operator takes beside its inputs. */
export type Attributes = { [O in OpName]: (typeof table)[O] extends Operator<infer A> ? A : never };
export const ops: { readonly [O in OpName]: Operator<Attributes[O]> } = table;

function operator<A>(of: Operator<A>): Operator<A> {
  return of;
}

function elementwise(type: string, attributes: Record<string, OnnxAttribute> = {}, domain?: "com.microsoft"): Operator<object> {
  return {
    infer: ([x]) => [{ shape: x.shape, type: x.type }],
    lower: (to, [x], [out]) => to.emit({ type, domain, attributes, inputs: [x.name], outputs: [out.name] }),
  };
}

function broadcasting(type: string): Operator<object> {
  return {
    infer: ([a, b]) => [{ shape: broadcastShape(type, a, b), type: a.type }],
    lower: (to, [a, b], [out]) => to.node(type, [a.name, b.name], {}, out.name),
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
  const like = to.has("SizeVector") ? undefined : to.like(shape);
  if (like !== undefined) return to.node("Shape", [like]);
  const parts = sizes.map((size) => (typeof size === "number" ? to.integers([size]) : to.size(size)));
  return to.node("Concat", parts, { axis: { int: 0 } });
}

function scatterAdd(to: Lowering, inputs: readonly string[], out: string, axis: number): void {
  to.node("ScatterElements", inputs, { axis: { int: axis }, reduction: { string: "add" } }, out);
}
