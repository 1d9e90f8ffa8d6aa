import { type Lowering, misfit, type Operator, sameShape } from "./operator.ts";
import { product } from "./products.ts";
import type { Tensor } from "./tensor.ts";

/** Also gives the probabilities [B, H, T, S], which the backward half needs. */
export const attention: Operator<{ scale: number }> = {
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
    to.emit({ type: "MatMul", inputs: [grouped, v.name], outputs: [product], exact: true });
    to.emit({ type: "Reshape", inputs: [product, to.integers([0, heads(q), -1, 0])], outputs: [out.name] });
  },
};

/** The probabilities [B, H, T, S] of `attention` alone. */
export const attentionProbabilities: Operator<{ scale: number }> = {
  infer: ([q, k, mask]) => {
    checkHeads("attentionProbabilities", q, k, k);
    return [{ shape: [...q.shape.slice(0, 3), mask.shape[3]], type: "float32" }];
  },
  lower: (to, [q, k, mask], [out], { scale }) => softmaxOf(to, groupedScores(to, q, k, scale), mask, out.name),
};

/**
 * Attention to cached keys and values [B, Hk, S, size] and to the new ones [B, Hk, T, size] at once; mask [B, 1, T, S+T].
 * The new scores join the softmax by concatenation: outputs of a session are copied, so the cache must not pass through it.
 */
export const cachedAttention: Operator<{ scale: number }> = {
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
};

/**
 * A mask [B, 1, T, S] of what tokens at positions [B, T] see of those before them and of themselves, where `seen` [B, S] is 1 and not 0 (padding):
 * the last `window` of them, or all.
 */
export const causalMask: Operator<{ window?: number }> = {
  infer: ([seen, positions]) => [{ shape: [positions.shape[0], 1, positions.shape[1], seen.shape[1]], type: "float32" }],
  lower: (to, [seen, positions], [out], { window }) => {
    const emit = (type: string, inputs: string[], attributes = {}): string => {
      const result = to.temporary();
      to.emit({ type, inputs, outputs: [result], attributes });
      return result;
    };
    const counted = emit("CumSum", [seen.name, to.integers([1])]);
    const keys = emit("Unsqueeze", [emit("Sub", [counted, to.integers([1])]), to.integers([1, 2])]);
    const queries = emit("Unsqueeze", [positions.name, to.integers([1, 3])]);
    const there = emit("Cast", [emit("Unsqueeze", [seen.name, to.integers([1, 2])])], { to: { int: boolType } });
    let visible = emit("And", [emit("LessOrEqual", [keys, queries]), there]);
    if (window !== undefined)
      visible = emit("And", [visible, emit("Greater", [keys, emit("Sub", [queries, to.integers([window])])])]);
    const [zero, hidden] = [0, unseen].map((value) => to.floats(Float32Array.of(value), [1]));
    to.emit({ type: "Where", inputs: [visible, zero, hidden], outputs: [out.name] });
  },
};
/** The number of truth values in onnx.proto, and what hides a token from a softmax. */
const [boolType, unseen] = [9, -1e9];

/** scale · q·kᵀ as [B, H, T, S]. Heads that share keys are stacked into taller matrices, so that keys are never repeated. */
function groupedScores(to: Lowering, q: Tensor, k: Tensor, scale: number): string {
  const [tall, grouped, scores] = [to.temporary(), to.temporary(), to.temporary()];
  to.emit({ type: "Reshape", inputs: [q.name, to.integers([0, heads(k), -1, 0])], outputs: [tall] });
  product(to, [tall, 4], [k.name, 4], grouped, { transB: true, alpha: scale, exact: true });
  to.emit({ type: "Reshape", inputs: [grouped, to.integers([0, heads(q), -1, 0])], outputs: [scores] });
  return scores;
}

function softmaxOf(to: Lowering, scores: string, mask: Tensor, out: string): void {
  const masked = to.temporary();
  to.emit({ type: "Add", inputs: [scores, mask.name], outputs: [masked] });
  to.emit({ type: "Softmax", inputs: [masked], outputs: [out], attributes: { axis: { int: -1 } } });
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
