import { z } from "zod";
import { HttpError } from "../../extensions/http/http-error.ts";
import { door } from "../../src/core/door.ts";
import { present } from "../../src/core/present.ts";
import type { LossOfDatum } from "./losses.ts";
import { backward, constant, type Dims, derived, elementwise, index, reduce, type Tensor, tensor } from "./tensors.ts";

/** A loss as a client of Tinker's SDK 0.38 traced it with torch.fx: its operations in order. Source: tinker/types/custom_loss_graph.py. */
const nodeSchema = door("an operation of create_custom_loss", {
  op: z.enum(["placeholder", "call_function", "call_method", "output"]),
  name: z.string().max(200),
  target: z.string().max(200),
  args: z.array(z.unknown()).default([]),
  kwargs: z.record(z.string(), z.unknown()).default({}),
});
const inputSchema = door("an input of create_custom_loss", { name: z.string(), rank: z.int().min(0).max(2) });
export const customLossSchema = door(
  "create_custom_loss",
  {
    session_id: z.string(),
    custom_loss_seq_id: z.int().min(0),
    name: z.string(),
    inputs: z.array(inputSchema).min(1),
    graph: door("the graph of create_custom_loss", { format: z.literal(1), nodes: z.array(nodeSchema).min(1).max(2000) }),
  },
  { ignores: ["type"] },
);
export type CustomLoss = Pick<z.output<typeof customLossSchema>, "name" | "inputs" | "graph">;

type Value = Tensor | number | boolean | string | null | undefined | readonly Value[] | { readonly [name: string]: Value };
type Arguments = Readonly<Record<string, Value>>;

interface Operation {
  /** Names of the arguments by position. */
  readonly takes: readonly string[];
  readonly run: (given: Arguments) => Value;
}

const isTensor = (value: Value): value is Tensor => typeof value === "object" && value !== null && "data" in value;
const asTensor = (value: Value): Tensor => (isTensor(value) ? value : constant(Number(value)));
const asDims = (value: Value): Dims => (value === undefined || value === null ? undefined : ([value].flat() as number[]));

const unary = (value: (x: number) => number, slope: (x: number, y: number) => number): Operation => ({
  takes: ["input"],
  run: ({ input }) =>
    elementwise(
      [asTensor(input)],
      ([x]) => value(x),
      ([x], y) => [slope(x, y)],
    ),
});
const binary = (
  value: (x: number, y: number) => number,
  slopes: (x: number, y: number, z: number) => [number, number],
): Operation => ({
  takes: ["input", "other"],
  run: ({ input, other }) =>
    elementwise(
      [asTensor(input), asTensor(other)],
      ([x, y]) => value(x, y),
      ([x, y], z) => slopes(x, y, z),
    ),
});
const compared = (holds: (x: number, y: number) => boolean): Operation =>
  binary(
    (x, y) => Number(holds(x, y)),
    () => [0, 0],
  );
const reduced = (how: "sum" | "max" | "min"): Operation => ({
  takes: ["input", "dim", "keepdim"],
  run: ({ input, dim, keepdim }) => reduce(asTensor(input), how, asDims(dim), keepdim === true),
});
const kept: Operation = { takes: ["input"], run: ({ input }) => input };
const filled = (value: number): Operation => ({
  takes: ["input"],
  run: ({ input }) =>
    elementwise(
      [asTensor(input)],
      () => value,
      () => [0],
    ),
});

function mean({ input, dim, keepdim }: Arguments): Tensor {
  const x = asTensor(input);
  const sum = reduce(x, "sum", asDims(dim), keepdim === true);
  const share = sum.data.length / x.data.length;
  return elementwise(
    [sum],
    ([s]) => s * share,
    () => [share],
  );
}

/** log Σ exp(x), from the largest x, so that nothing overflows. */
function logsumexp(x: Tensor, dims: Dims, keep: boolean): Tensor {
  const most = derived(reduce(x, "max", dims, true));
  const shifted = elementwise(
    [x, most],
    ([a, b]) => Math.exp(a - b),
    (_, y) => [y, 0],
  );
  const sum = reduce(shifted, "sum", dims, true);
  const whole = elementwise(
    [sum, most],
    ([s, m]) => Math.log(s) + m,
    ([s]) => [1 / s, 0],
  );
  return keep ? whole : reduce(whole, "sum", dims, false);
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const softplus = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const dimOf = ({ dim }: Arguments) => asDims(dim ?? -1);
const minus = (x: Tensor, y: Tensor) =>
  elementwise(
    [x, y],
    ([a, b]) => a - b,
    () => [1, -1],
  );

const operations: Readonly<Record<string, Operation>> = {
  add: binary(
    (x, y) => x + y,
    () => [1, 1],
  ),
  sub: binary(
    (x, y) => x - y,
    () => [1, -1],
  ),
  mul: binary(
    (x, y) => x * y,
    (x, y) => [y, x],
  ),
  div: binary(
    (x, y) => x / y,
    (x, y) => [1 / y, -x / (y * y)],
  ),
  pow: binary(
    (x, y) => x ** y,
    (x, y, z) => [y === 0 ? 0 : y * x ** (y - 1), x > 0 ? z * Math.log(x) : 0],
  ),
  // At equal values the gradient is shared, as torch has it.
  maximum: binary(Math.max, (x, y) => (x === y ? [0.5, 0.5] : x > y ? [1, 0] : [0, 1])),
  minimum: binary(Math.min, (x, y) => (x === y ? [0.5, 0.5] : x < y ? [1, 0] : [0, 1])),
  gt: compared((x, y) => x > y),
  ge: compared((x, y) => x >= y),
  lt: compared((x, y) => x < y),
  le: compared((x, y) => x <= y),
  eq: compared((x, y) => x === y),
  ne: compared((x, y) => x !== y),
  logical_and: compared((x, y) => x !== 0 && y !== 0),
  logical_or: compared((x, y) => x !== 0 || y !== 0),
  logical_not: unary(
    (x) => Number(x === 0),
    () => 0,
  ),
  neg: unary(
    (x) => -x,
    () => -1,
  ),
  exp: unary(Math.exp, (_, y) => y),
  expm1: unary(Math.expm1, (_, y) => y + 1),
  log: unary(Math.log, (x) => 1 / x),
  log1p: unary(Math.log1p, (x) => 1 / (1 + x)),
  sqrt: unary(Math.sqrt, (_, y) => 0.5 / y),
  square: unary(
    (x) => x * x,
    (x) => 2 * x,
  ),
  abs: unary(Math.abs, Math.sign),
  sign: unary(Math.sign, () => 0),
  tanh: unary(Math.tanh, (_, y) => 1 - y * y),
  sigmoid: unary(sigmoid, (_, y) => y * (1 - y)),
  logsigmoid: unary(
    (x) => -softplus(-x),
    (x) => sigmoid(-x),
  ),
  softplus: unary(softplus, sigmoid),
  relu: unary(
    (x) => Math.max(x, 0),
    (x) => Number(x > 0),
  ),
  clamp: {
    takes: ["input", "min", "max"],
    run: ({ input, min, max }) => {
      const [low, high] = [asTensor(min ?? Number.NEGATIVE_INFINITY), asTensor(max ?? Number.POSITIVE_INFINITY)];
      const inside = ([x, a, b]: readonly [number, number, number]) => [Number(x >= a && x <= b), Number(x < a), Number(x > b)];
      return elementwise([asTensor(input), low, high], ([x, a, b]) => Math.min(Math.max(x, a), b), inside);
    },
  },
  where: {
    takes: ["condition", "input", "other"],
    run: ({ condition, input, other }) =>
      elementwise(
        [asTensor(condition), asTensor(input), asTensor(other)],
        ([c, x, y]) => (c === 0 ? y : x),
        ([c]) => [0, Number(c !== 0), Number(c === 0)],
      ),
  },
  sum: reduced("sum"),
  amax: reduced("max"),
  amin: reduced("min"),
  mean: { takes: ["input", "dim", "keepdim"], run: mean },
  logsumexp: {
    takes: ["input", "dim", "keepdim"],
    run: (given) => logsumexp(asTensor(given.input), dimOf(given), given.keepdim === true),
  },
  log_softmax: {
    takes: ["input", "dim"],
    run: (given) => minus(asTensor(given.input), logsumexp(asTensor(given.input), dimOf(given), true)),
  },
  softmax: {
    takes: ["input", "dim"],
    run: (given) => {
      const logs = minus(asTensor(given.input), logsumexp(asTensor(given.input), dimOf(given), true));
      return elementwise(
        [logs],
        ([x]) => Math.exp(x),
        (_, y) => [y],
      );
    },
  },
  detach: { takes: ["input"], run: ({ input }) => derived(asTensor(input)) },
  zeros_like: filled(0),
  ones_like: filled(1),
  ...{ clone: kept, contiguous: kept, float: kept, double: kept, to: kept },
  numel: { takes: ["input"], run: ({ input }) => asTensor(input).data.length },
  size: { takes: ["input", "dim"], run: ({ input, dim }) => sizeOf(asTensor(input), dim) },
  getattr: {
    takes: ["input", "name"],
    run: ({ input, name }) => {
      if (name !== "shape") throw refusal(`the attribute ${String(name)}`);
      return sizeOf(asTensor(input), undefined);
    },
  },
  getitem: {
    takes: ["input", "index"],
    run: ({ input, index: where }) => {
      if (!isTensor(input)) return (input as readonly Value[]).at(Number(where));
      const parts = Array.isArray(where) ? where : [where];
      return index(
        input,
        parts.map((part) => {
          if (typeof part === "number") return part;
          if (typeof part === "object" && part !== null && "slice" in part) return part.slice as readonly (number | null)[];
          throw refusal("an index that is neither a number nor a slice");
        }),
      );
    },
  },
};

/** Other names of the same operations. */
const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ truediv: "div", true_divide: "div", divide: "div", multiply: "mul", subtract: "sub", negative: "neg", clip: "clamp" },
    ...{ absolute: "abs", expit: "sigmoid", iadd: "add", isub: "sub", imul: "mul", itruediv: "div", __getitem__: "getitem" },
    ...{ and_: "logical_and", or_: "logical_or", invert: "logical_not", greater: "gt", less: "lt" },
  }),
);

const sizeOf = ({ shape }: Tensor, dim: Value): Value => (dim === undefined ? shape : shape.at(Number(dim)));

function operationOf(target: string): Operation {
  const last = target.split(".").at(-1) ?? "";
  const name = aliases.get(last) ?? last;
  const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
  if (operation === undefined) throw refusal(target);
  return operation;
}

function refusal(what: string): HttpError {
  return new HttpError(422, "custom loss", what, {
    expected: Object.keys(operations).join(", "),
    hint: "Give the function itself to forward_backward_custom: the client then computes it.",
  });
}

/** @throws HttpError (422) naming the first operation of a traced loss that is not computed here */
export function requireCustomLoss({ inputs, graph: { nodes } }: CustomLoss): void {
  if (inputs[0]?.name !== "logprobs")
    throw new HttpError(422, "inputs of a custom loss", inputs[0]?.name, { expected: "logprobs first" });
  for (const { op, target } of nodes) if (op.startsWith("call")) operationOf(target);
  if (nodes.at(-1)?.op !== "output")
    throw new HttpError(422, "custom loss", "no output", { expected: "an output as the last node" });
}

/**
 * Computes a traced loss of one datum and its gradient with respect to the log-probs.
 * @param tokens of the datum: the first dimension of inputs of rank 2
 * @throws HttpError (422) for inputs, shapes and results that are not those of a loss
 */
export function evaluateCustomLoss(
  { name, inputs, graph }: CustomLoss,
  tokens: number,
  given: Readonly<Record<string, readonly number[]>>,
): LossOfDatum & { readonly metrics: Readonly<Record<string, number>> } {
  const values = new Map<string, Value>();
  const tensors = inputs.map(({ name: input, rank }) => {
    const data = given[input];
    if (data === undefined) throw new HttpError(422, `loss_fn_inputs.${input}`, undefined, { expected: `an input of "${name}"` });
    return tensor(data, rank === 0 ? [] : rank === 1 ? [data.length] : [tokens, data.length / tokens]);
  });
  let placed = 0;
  for (const node of graph.nodes) {
    if (node.op === "placeholder") values.set(node.name, tensors[placed++]);
    else if (node.op === "output") {
      const [loss, metrics] = decoded(node.args[0], values) as readonly [Value, Readonly<Record<string, Value>>];
      if (!isTensor(loss) || loss.shape.length > 0)
        throw new HttpError(422, `loss of "${name}"`, isTensor(loss) ? loss.shape : loss, { expected: "a scalar" });
      const weights = backward(loss, present(tensors[0], "the log-probs")).map((slope) => -slope);
      const first = ({ data: [number] }: Tensor) => {
        if (number !== undefined) return number;
        throw new HttpError(422, `result of "${name}"`, "no number", { expected: "a loss and metrics of one number" });
      };
      const result = {
        loss: first(loss),
        weights,
        metrics: Object.fromEntries(Object.entries(metrics).map(([key, value]) => [key, first(asTensor(value))])),
      };
      if ([result.loss, ...weights].every(Number.isFinite)) return result;
      throw new HttpError(422, `loss of "${name}"`, result.loss, { expected: "a finite loss with a finite gradient" });
    } else {
      const { takes, run } = operationOf(node.target);
      const positional = node.args.map((arg, i) => [takes[i] ?? `argument ${i}`, decoded(arg, values)] as const);
      const named = Object.entries(node.kwargs).map(([key, arg]) => [key, decoded(arg, values)] as const);
      values.set(node.name, run(Object.fromEntries([...positional, ...named])));
    }
  }
  throw new HttpError(422, "custom loss", "no output", { expected: "an output as the last node" });
}

/** An argument as it travels: a scalar, a list, or an object with one key. */
function decoded(arg: unknown, values: ReadonlyMap<string, Value>): Value {
  if (Array.isArray(arg)) return arg.map((each) => decoded(each, values));
  if (typeof arg !== "object" || arg === null) return arg as Value;
  const [[kind, value] = ["", undefined]] = Object.entries(arg);
  if (kind === "ref") return values.get(String(value));
  if (kind === "float") return Number(String(value).replace("inf", "Infinity"));
  if (kind === "tuple") return decoded(value, values);
  if (kind === "slice") return { slice: decoded(value, values) };
  if (kind === "dict")
    return Object.fromEntries(Object.entries(value as object).map(([key, each]) => [key, decoded(each, values)]));
  return kind === "dtype" || kind === "device" ? undefined : { [kind]: null };
}
