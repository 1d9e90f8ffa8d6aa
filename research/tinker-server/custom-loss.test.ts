import { expect, test } from "vitest";
import { evaluateCustomLoss, requireCustomLoss } from "./custom-loss.ts";

type Node = Parameters<typeof requireCustomLoss>[0]["graph"]["nodes"][number];

/** A loss with the operations `[target, arguments…]`; "#2" is the result of the second one, and the last one is the loss. */
function lossOf(rank: number, operations: readonly (readonly [string, ...unknown[]])[]): Parameters<typeof requireCustomLoss>[0] {
  const arg = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(arg);
    return typeof value === "string" && /^(#\d+|lp|a)$/.test(value) ? { ref: value } : value;
  };
  const called = operations.map(
    ([target, ...args], i): Node => ({ op: "call_function", name: `#${i + 1}`, target, args: args.map(arg), kwargs: {} }),
  );
  const placed = ["lp", "a"].map((name): Node => ({ op: "placeholder", name, target: name, args: [], kwargs: {} }));
  const result = [{ ref: `#${operations.length}` }, { dict: { "custom/x:sum": { ref: `#${operations.length}` } } }];
  const output: Node = { op: "output", name: "output", target: "output", args: [{ tuple: result }], kwargs: {} };
  const inputs = [
    { name: "logprobs", rank },
    { name: "a", rank },
  ];
  return { name: "loss", inputs, graph: { format: 1, nodes: [...placed, ...called, output] } };
}

const a = [1, -0.5, 0.25, 2, -1, 0.5];
const logprobs = [-0.3, -2, -1.2, -0.9, -3, -0.1];

test.each<[string, number, (readonly [string, ...unknown[]])[]]>([
  [
    "products and sums",
    1,
    [
      ["operator.mul", "lp", "a"],
      ["sum", "#1"],
    ],
  ],
  [
    "PPO's surrogate",
    1,
    [
      ["operator.sub", "lp", "a"],
      ["torch.exp", "#1"],
      ["operator.mul", "#2", "a"],
      ["torch.clamp", "#2", 0.8, 1.2],
      ["operator.mul", "#4", "a"],
      ["torch.minimum", "#3", "#5"],
      ["sum", "#6"],
      ["operator.neg", "#7"],
    ],
  ],
  [
    "quotients, powers and roots",
    1,
    [
      ["operator.truediv", "a", "lp"],
      ["operator.pow", "lp", 2],
      ["operator.add", "#1", "#2"],
      ["torch.square", "#3"],
      ["torch.sqrt", "#4"],
      ["torch.mean", "#5"],
    ],
  ],
  [
    "comparisons choose",
    1,
    [
      ["operator.gt", "a", 0],
      ["tanh", "lp"],
      ["torch.where", "#1", "#2", "lp"],
      ["sum", "#3"],
    ],
  ],
  [
    "functions of one number",
    1,
    [
      ["sigmoid", "lp"],
      ["torch.nn.functional.logsigmoid", "#1"],
      ["torch.nn.functional.softplus", "#2"],
      ["expm1", "#3"],
      ["log1p", "#4"],
      ["abs", "#5"],
      ["relu", "#6"],
      ["log", "#7"],
      ["sum", "#8"],
    ],
  ],
  [
    "softmax over candidates",
    2,
    [
      ["torch.log_softmax", "lp", -1],
      ["operator.mul", "#1", "a"],
      ["sum", "#2", 1],
      ["mean", "#3"],
    ],
  ],
  [
    "log-sum-exp and broadcasting",
    2,
    [
      ["torch.logsumexp", "lp", 1, true],
      ["operator.sub", "lp", "#1"],
      ["torch.softmax", "a", 0],
      ["operator.mul", "#2", "#3"],
      ["sum", "#4"],
    ],
  ],
  [
    "extremes, indices and slices",
    2,
    [
      ["torch.amax", "lp", 1],
      ["operator.getitem", "lp", [{ slice: [null, 2, null] }, -1]],
      ["sum", "#2"],
      ["torch.amin", "#1"],
      ["operator.add", "#3", "#4"],
    ],
  ],
])("the gradient of a traced loss agrees with central differences: %s", (_, rank, operations) => {
  const loss = lossOf(rank, operations);
  requireCustomLoss(loss);
  const value = (lp: readonly number[]) => evaluateCustomLoss(loss, 3, { logprobs: lp, a });
  const { weights, metrics, loss: at } = value(logprobs);
  expect(metrics).toEqual({ "custom/x:sum": at });
  const h = 1e-5;
  const differences = logprobs.map((_, i) => {
    const moved = (by: number) => value(logprobs.map((x, j) => (i === j ? x + by : x))).loss;
    return -(moved(h) - moved(-h)) / (2 * h);
  });
  for (const [i, weight] of weights.entries()) expect(weight).toBeCloseTo(differences[i], 6);
  expect(weights.some((weight) => weight !== 0)).toBe(true);
});

test("what is detached has no gradient, and extremes share theirs among equals, as torch has it", () => {
  const detached = lossOf(1, [
    ["detach", "lp"],
    ["operator.mul", "#1", "lp"],
    ["sum", "#2"],
  ]);
  expect(evaluateCustomLoss(detached, 3, { logprobs, a }).weights).toEqual(logprobs.map((lp) => -lp));
  const most = lossOf(1, [["torch.amax", "lp"]]);
  expect(evaluateCustomLoss(most, 3, { logprobs: [1, 2, 2], a: [0, 0, 0] }).weights.map((x) => x + 0)).toEqual([0, -0.5, -0.5]);
});

test("an operation that is not there is refused by name, and so is a loss that is no scalar or not finite", () => {
  expect(() => requireCustomLoss(lossOf(1, [["torch.fft.fft", "lp"]]))).toThrow(/torch\.fft\.fft.*forward_backward_custom/s);
  expect(() => evaluateCustomLoss(lossOf(1, [["torch.exp", "lp"]]), 3, { logprobs, a })).toThrow(/scalar/);
  expect(() =>
    evaluateCustomLoss(
      lossOf(1, [
        ["torch.log", "lp"],
        ["sum", "#1"],
      ]),
      3,
      { logprobs, a },
    ),
  ).toThrow(/finite/);
  expect(() => evaluateCustomLoss(lossOf(1, [["sum", "lp"]]), 3, { logprobs })).toThrow(/loss_fn_inputs\.a/);
});
