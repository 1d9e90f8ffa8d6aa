import { EngineError } from "../../../src/core/errors.ts";
import type { Graph, Node } from "./graph.ts";
import type { OpName } from "./ops.ts";
import type { Dim, Tensor } from "./tensor.ts";

/**
 * From ∂L/∂outputs to ∂L/∂inputs, as new nodes of the graph. Further outputs than the first serve rules alone, and have no gradient: but those of
 * `split`, each undefined where nothing depends on it. An input that no gradient can reach (ids, masks) gets undefined, or is left out at the end.
 */
type GradientRule<O extends OpName> = (
  g: Graph,
  node: Node<O>,
  upstream: readonly [dy: Tensor, ...(Tensor | undefined)[]],
) => readonly (Tensor | undefined)[];

/** One rule an operator. `null`: nothing is ever differentiated through it. */
export const gradientRules: { readonly [O in OpName]: GradientRule<O> | null } = {
  identity: (_g, _node, [dy]) => [dy],
  neg: (g, _node, [dy]) => [g.neg(dy)],
  exp: (g, { outputs: [y] }, [dy]) => [g.mul(dy, y)],
  /** σ' = σ(1 − σ) = σ − σ² */
  sigmoid: (g, { outputs: [y] }, [dy]) => [g.mul(dy, g.sub(y, g.mul(y, y)))],
  /** (xσ)' = σ + xσ(1 − σ) = σ + y − yσ */
  silu: (g, { inputs: [x], outputs: [y] }, [dy]) => {
    const sigma = g.sigmoid(x);
    return [g.mul(dy, g.add(sigma, g.sub(y, g.mul(y, sigma))))];
  },
  /** ½(1 + tanh u) = σ(2u), so y = xσ(z) with z = 2√(2/π)·(x + cx³): y' = σ + (y − yσ)·z' */
  gelu: (g, { inputs: [x], outputs: [y] }, [dy]) => {
    const [slope, cubic] = [2 * Math.sqrt(2 / Math.PI), 0.044715];
    const square = g.mul(x, x);
    const sigma = g.sigmoid(g.mul(x, g.add(g.mul(square, g.scalar(slope * cubic)), g.scalar(slope))));
    const ofZ = g.add(g.mul(square, g.scalar(3 * slope * cubic)), g.scalar(slope));
    return [g.mul(dy, g.add(sigma, g.mul(g.sub(y, g.mul(y, sigma)), ofZ)))];
  },
  /** dx = y ∘ (dy − rowsum(dy ∘ y)) */
  softmax: (g, { outputs: [y] }, [dy]) => [g.mul(y, g.sub(dy, g.sum(g.mul(dy, y), [y.shape.length - 1])))],
  /** dx = dy − softmax(x)·rowsum(dy) */
  logSoftmax: (g, { outputs: [y] }, [dy]) => [g.sub(dy, g.mul(g.exp(y), g.sum(dy, [y.shape.length - 1])))],

  add: (g, { inputs: [a, b] }, [dy]) => [sumTo(g, dy, a.shape), sumTo(g, dy, b.shape)],
  sub: (g, { inputs: [a, b] }, [dy]) => [sumTo(g, dy, a.shape), g.neg(sumTo(g, dy, b.shape))],
  mul: (g, { inputs: [a, b] }, [dy]) => [sumTo(g, g.mul(dy, b), a.shape), sumTo(g, g.mul(dy, a), b.shape)],

  /** C = α·op(A)·op(B): dA = α·dC·op(B)ᵀ and dB = α·op(A)ᵀ·dC, each transposed back where the operand was. */
  matmul: (g, { inputs: [a, b], attributes: { transA, transB, alpha } }, [dy]) => {
    const shared = b.shape.length === 2 && a.shape.length > 2;
    if (shared && transA) throw new EngineError("gradient of matmul", a.shape, { expected: "a batch that is not transposed" });
    const da = transA
      ? g.matmul(b, dy, { transA: transB, transB: true, alpha })
      : g.matmul(dy, b, { transA: false, transB: !transB, alpha });
    // A matrix shared by a batch collects the gradients of the whole batch: one product over all rows.
    const [rowsA, rowsY] = shared ? [flattenRows(g, a), flattenRows(g, dy)] : [a, dy];
    const db = transB
      ? g.matmul(rowsY, rowsA, { transA: true, transB: transA, alpha })
      : g.matmul(rowsA, rowsY, { transA: !transA, transB: false, alpha });
    return [da, db];
  },

  sqrt: null,
  relu: null,
  div: null,
  int8Product: null,
  int4Product: null,
  reshape: (g, { inputs: [x] }, [dy]) => [g.reshape(dy, x.shape)],
  transpose: (g, { attributes: { permutation } }, [dy]) => [
    g.transpose(
      dy,
      permutation.map((_, axis) => permutation.indexOf(axis)),
    ),
  ],
  concat: (g, { inputs, attributes: { axis } }, [dy]) => {
    const sizes = inputs.map((x) => x.shape[axis]);
    if (!sizes.every((size) => typeof size === "number")) {
      throw new EngineError("gradient of concat", sizes, { expected: "sizes known when the graph is built" });
    }
    return g.split(dy, axis, sizes);
  },
  split: (g, { outputs, attributes: { axis } }, upstream) => [
    g.concat(
      upstream.map((dy, i) => dy ?? g.mul(outputs[i], g.scalar(0))),
      axis,
    ),
  ],
  sum: (g, { inputs: [x], attributes: { axes } }, [dy]) => {
    const kept = g.reshape(
      dy,
      x.shape.map((dim, axis) => (axes.includes(axis) ? 1 : dim)),
    );
    const zeros = g.mul(x, g.scalar(0));
    return [g.add(zeros, kept)];
  },

  gather: (g, { inputs: [table, ids] }, [dy]) => {
    if (table.shape.length !== 2) throw new EngineError("gradient of gather", table.shape, { expected: "a matrix" });
    const count = productName(ids.shape);
    const rows = [g.reshape(ids, [count, 1]), g.reshape(dy, [count, table.shape[1]])];
    return g.apply("scatterRows", [...rows, table], {});
  },
  scatterRows: null,
  addAt: null,

  /** y = x·r with r = (mean(x²) + ε)^(−1/2): dx = r ∘ (dy − y ∘ mean(dy ∘ y)) */
  rmsNormalise: (g, { inputs: [x], outputs: [y, inverse] }, [dy]) => {
    const axis = x.shape.length - 1;
    const mean = g.mul(g.sum(g.mul(dy, y), [axis]), g.scalar(1 / Number(x.shape[axis])));
    return [g.mul(inverse, g.sub(dy, g.mul(y, mean)))];
  },
  /** A rotation's transpose is the rotation by the opposite angle. */
  rotary: (g, { inputs: [_x, positions, cosine, sine] }, [dy]) => [g.rotary(dy, positions, cosine, g.neg(sine))],

  attention: (g, { inputs: [q, k, v], outputs: [o, p], attributes: { scale } }, [dy]) =>
    attentionGradients(g, { q, k, v, o, p, scale }, dy),
  attentionProbabilities: null,
  cachedAttention: null,
  causalMask: null,
  columnAttention: null,
  rowInputs: null,
  drawTokens: null,
  pick: null,
  scatterLast: null,
  zeros: null,

  /** ∂ log softmax(z)[t] / ∂z = onehot(t) − softmax(z) */
  selectLogprobs: (g, { inputs: [, targets], outputs: [, all] }, [dy]) => {
    const spread = g.mul(g.exp(all), g.neg(dy));
    return g.apply("addAt", [spread, targets, dy], {});
  },

  /** H = −Σ p·log p with p = softmax(z): ∂H/∂z = −p ∘ (log p + H) */
  entropy: (g, { outputs: [h, all] }, [dy]) => [g.mul(g.neg(dy), g.mul(g.exp(all), g.add(all, h)))],
};

/** Queries, keys and values of attention as `Graph.attention` takes them, what came out, and the probabilities. */
export interface Attended {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly o: Tensor;
  readonly p: Tensor;
  readonly scale: number;
}

/**
 * P = softmax(scale·QKᵀ + mask), O = PV:  dV = PᵀdO,  dP = dO·Vᵀ,  dS = P ∘ (dP − rowsum(dO ∘ O)),
 * dQ = scale·dS·K,  dK = scale·dSᵀ·Q.  rowsum(dO ∘ O) equals rowsum(dP ∘ P) and is over the head size only.
 * Stacked query heads make the gradients of shared keys and values sum by themselves.
 * @returns dQ, dK and dV
 */
export function attentionGradients(g: Graph, { q, k, v, o, p, scale }: Attended, dy: Tensor): [Tensor, Tensor, Tensor] {
  const [rows, , tokens, size] = q.shape;
  const keyHeads = k.shape[1];
  const tall = (x: Tensor, width: Dim) => g.reshape(x, [rows, keyHeads, `${tokens}*group`, width]);
  const delta = g.sum(g.mul(dy, o), [3]);
  const tallDy = tall(dy, size);
  const tallP = tall(p, p.shape[3]);
  const dv = g.matmul(tallP, tallDy, { transA: true, exact: true });
  const dp = g.reshape(g.matmul(tallDy, v, { transB: true, exact: true }), p.shape);
  const ds = tall(g.mul(p, g.sub(dp, delta)), p.shape[3]);
  const dq = g.reshape(g.matmul(ds, k, { alpha: scale, exact: true }), q.shape);
  const dk = g.matmul(ds, tall(q, size), { transA: true, alpha: scale, exact: true });
  return [dq, dk, dv];
}

/**
 * Adds the backward half of a graph (reverse mode).
 * @param outputs those that L depends on
 * @param seeds for each of them ∂L/∂output, of its shape
 * @returns ∂L/∂x for every x of `wrt`
 * @throws EngineError if no output depends on one of them, or an operator on the way cannot be differentiated
 */
export function differentiate(g: Graph, outputs: readonly Tensor[], seeds: readonly Tensor[], wrt: readonly Tensor[]): Tensor[] {
  const forward = [...g.nodes];
  const needed = dependents(forward, wrt);
  const adjoint = new Map<string, Tensor>(outputs.map(({ name }, i) => [name, seeds[i]]));
  for (const node of forward.reverse()) {
    if (!node.outputs.some((out) => adjoint.has(out.name)) || !node.outputs.some((out) => needed.has(out.name))) continue;
    // The table pairs each rule with its own operator; the compiler cannot follow that pairing through the index. Nor does it see that the
    // first output has a gradient where another has one, but of `split`.
    const rule = gradientRules[node.op] as GradientRule<OpName> | null;
    if (!rule) throw new EngineError("differentiated operator", node.op, { expected: "one that has a gradient rule" });
    const upstream = node.outputs.map((out) => adjoint.get(out.name));
    const gradients = rule(g, node, upstream as unknown as Parameters<typeof rule>[2]);
    node.inputs.forEach((input, i) => {
      const gradient = gradients[i];
      if (!gradient) return;
      const sofar = adjoint.get(input.name);
      adjoint.set(input.name, sofar ? g.add(sofar, gradient) : gradient);
    });
  }
  return wrt.map((x) => {
    const gradient = adjoint.get(x.name);
    if (!gradient) throw new EngineError("parameter", x.name, { expected: "one that an output depends on" });
    return gradient;
  });
}

/** Names of all values that depend on one of the given tensors, themselves included. */
function dependents(nodes: readonly Node[], of: readonly Tensor[]): Set<string> {
  const names = new Set(of.map((t) => t.name));
  for (const node of nodes) {
    if (node.inputs.some((input) => names.has(input.name))) for (const out of node.outputs) names.add(out.name);
  }
  return names;
}

/** Undoes broadcasting: sums a gradient over the axes along which the operand was repeated. */
function sumTo(g: Graph, gradient: Tensor, shape: readonly Dim[]): Tensor {
  const missing = gradient.shape.length - shape.length;
  const axes = gradient.shape.flatMap((dim, axis) =>
    axis < missing || (shape[axis - missing] === 1 && dim !== 1) ? [axis] : [],
  );
  return axes.length === 0 ? gradient : g.reshape(g.sum(gradient, axes), shape);
}

function flattenRows(g: Graph, x: Tensor): Tensor {
  return g.reshape(x, [productName(x.shape.slice(0, -1)), x.shape[x.shape.length - 1]]);
}

/** A name for the product of sizes, or the product itself where all are known. */
function productName(dims: readonly Dim[]): Dim {
  if (dims.length === 1) return dims[0];
  return dims.every((dim) => typeof dim === "number") ? dims.reduce((a, b) => a * b, 1) : dims.join("*");
}
