import type { Lowering, Operator } from "./operator.ts";

export const logSoftmax: Operator<object> = {
  infer: ([x]) => [{ shape: x.shape, type: x.type }],
  lower: (to, [x], [out]) => logSoftmaxOf(to, x.name, out.name),
};

/** Also gives the whole log softmax [M, V], which the backward half needs. */
export const selectLogprobs: Operator<object> = {
  infer: ([logits, targets]) => [
    { shape: targets.shape, type: "float32" },
    { shape: logits.shape, type: "float32" },
  ],
  lower: (to, [logits, targets], [out, all]) => {
    logSoftmaxOf(to, logits.name, all.name);
    to.node("GatherElements", [all.name, targets.name], { axis: { int: 1 } }, out.name);
  },
};

/** Also gives the log softmax [M, V], which the backward half needs; ONNX Runtime computes it once if `selectLogprobs` does too. */
export const entropy: Operator<object> = {
  infer: ([logits]) => [
    { shape: logits.shape.with(-1, 1), type: "float32" },
    { shape: logits.shape, type: "float32" },
  ],
  lower: (to, [logits], [out, all]) => {
    logSoftmaxOf(to, logits.name, all.name);
    const products = to.node("Mul", [to.node("Exp", [all.name]), all.name]);
    to.node("Neg", [to.node("ReduceSum", [products, to.integers([-1])])], {}, out.name);
  },
};

/** Over the last axis: x − max x − log Σ exp(x − max x), where there is no kernel for it. */
function logSoftmaxOf(to: Lowering, x: string, out: string): string {
  if (to.has("LogSoftmax")) return to.node("LogSoftmax", [x], { axis: { int: -1 } }, out);
  const last = to.integers([-1]);
  const shifted = to.node("Sub", [x, to.node("ReduceMax", [x, last])]);
  const sum = to.node("ReduceSum", [to.node("Exp", [shifted]), last]);
  return to.node("Sub", [shifted, to.node("Log", [sum])], {}, out);
}
