import { type Lowering, misfit, type Operator, sameShape, unseen } from "./operator.ts";
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
    softmaxOf(to, groupedScores(to, q, k, scale), mask, probabilities.name);
    const grouped = to.node("Reshape", [probabilities.name, to.integers([0, heads(k), -1, 0])]);
    const mixed = product(to, [grouped, 4], [v.name, 4], { exact: true });
    to.node("Reshape", [mixed, to.integers([0, heads(q), -1, 0])], {}, out.name);
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
    const queries = to.node("Reshape", [to.node("Mul", [q.name, to.number(scale)]), grouping]);
    const [keys, values] = [k, v].map(({ name }) => to.node("Unsqueeze", [name, to.integers([2])]));
    const oldScores = product(to, [queries, 5], [cachedK.name, 5], { transB: true });
    const newScores = product(to, [queries, 5], [keys, 5], { transB: true });
    const scores = to.node("Concat", [oldScores, newScores], { axis: { int: 4 } });
    const probabilities = softmaxOf(to, scores, mask);
    const [cached, axis] = [to.size(String(cachedK.shape[3])), to.integers([4])];
    const old = to.node("Slice", [probabilities, to.integers([0]), cached, axis]);
    const fresh = to.node("Slice", [probabilities, cached, to.integers([2 ** 40]), axis]);
    const sum = to.node("Add", [to.node("MatMul", [old, cachedV.name]), to.node("MatMul", [fresh, values])]);
    to.node("Reshape", [sum, to.integers([0, heads(q), -1, Number(q.shape[3])])], {}, out.name);
  },
};

/**
 * A mask [B, 1, T, S] of what tokens at positions [B, T] see of those before them and of themselves, where `seen` [B, S] is 1 and not 0 (padding):
 * the last `window` of them, or all.
 */
export const causalMask: Operator<{ window?: number }> = {
  infer: ([seen, positions]) => [{ shape: [positions.shape[0], 1, positions.shape[1], seen.shape[1]], type: "float32" }],
  lower: (to, [seen, positions], [out], { window }) => {
    const counted = to.node("CumSum", [seen.name, to.integers([1])]);
    const keys = to.node("Unsqueeze", [to.node("Sub", [counted, to.integers([1])]), to.integers([1, 2])]);
    const queries = to.node("Unsqueeze", [positions.name, to.integers([1, 3])]);
    const there = to.node("Cast", [to.node("Unsqueeze", [seen.name, to.integers([1, 2])])], { to: { int: boolType } });
    let visible = to.node("And", [to.node("LessOrEqual", [keys, queries]), there]);
    if (window !== undefined)
      visible = to.node("And", [visible, to.node("Greater", [keys, to.node("Sub", [queries, to.integers([window])])])]);
    to.node("Where", [visible, to.number(0), to.number(unseen)], {}, out.name);
  },
};
/** The number of truth values in onnx.proto. */
const boolType = 9;

/** scale · q·kᵀ as [B, H, T, S]. Heads that share keys are stacked into taller matrices, so that keys are never repeated. */
function groupedScores(to: Lowering, q: Tensor, k: Tensor, scale: number): string {
  const tall = to.node("Reshape", [q.name, to.integers([0, heads(k), -1, 0])]);
  const grouped = product(to, [tall, 4], [k.name, 4], { transB: true, alpha: scale, exact: true });
  return to.node("Reshape", [grouped, to.integers([0, heads(q), -1, 0])]);
}

function softmaxOf(to: Lowering, scores: string, mask: Tensor, out?: string): string {
  return to.node("Softmax", [to.node("Add", [scores, mask.name])], { axis: { int: -1 } }, out);
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
