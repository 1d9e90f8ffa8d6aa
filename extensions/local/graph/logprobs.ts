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
    to.emit({
      type: "GatherElements",
      inputs: [all.name, targets.name],
      outputs: [out.name],
      attributes: { axis: { int: 1 } },
    });
  },
};

/** Also gives the log softmax [M, V], which the backward half needs; ONNX Runtime computes it once if `selectLogprobs` does too. */
export const entropy: Operator<object> = {
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
};

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
