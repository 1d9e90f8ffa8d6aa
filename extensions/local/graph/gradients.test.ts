import { describe, expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import { type Random, randomStream } from "../../../src/core/random.ts";
import { differentiate, gradientRules } from "./gradients.ts";
import { Graph } from "./graph.ts";
import type { OpName } from "./ops.ts";
import { Session, type Value } from "./session.ts";
import type { Dim, Tensor } from "./tensor.ts";

/** A function of float32 operands. What cannot be differentiated (ids, masks) are constants or further inputs of the graph. */
interface Case {
  readonly title: string;
  readonly operands: readonly (readonly Dim[])[];
  readonly build: (g: Graph, operands: readonly Tensor[]) => Tensor;
}

const unary = (build: (g: Graph, x: Tensor) => Tensor): Case[] => [
  { title: "a matrix", operands: [[3, 4]], build: (g, [x]) => build(g, x) },
];

const binary = (op: "add" | "sub" | "mul" | "div"): Case[] =>
  (
    [
      ["equal shapes", [3, 4], [3, 4]],
      ["a row on the right", [2, 3, 4], [4]],
      ["a row on the left", [4], [2, 3, 4]],
      ["a column on the right", [2, 3, 4], [3, 1]],
      ["both repeated", [3, 1], [2, 1, 4]],
      ["a number", [3, 4], [1]],
    ] as const
  ).map(([title, a, b]) => ({ title, operands: [a, b], build: (g, [x, y]) => g[op](x, y) }));

const flips = [false, true].flatMap((transA) => [false, true].map((transB) => ({ transA, transB })));
const flipped = (batch: readonly number[], rows: number, columns: number, flip: boolean) =>
  flip ? [...batch, columns, rows] : [...batch, rows, columns];
const products = (title: string, batch: readonly number[], sharedRight: boolean): Case[] =>
  flips
    .filter(({ transA }) => !(sharedRight && transA))
    .map(({ transA, transB }) => ({
      title: `${title}${transA ? ", left transposed" : ""}${transB ? ", right transposed" : ""}`,
      operands: [flipped(batch, 2, 3, transA), flipped(sharedRight ? [] : batch, 3, 4, transB)],
      build: (g, [a, b]) => g.matmul(a, b, { transA, transB, alpha: 0.7 }),
    }));

/** Causal over the last three of five keys; the second row does not see the first key at all. */
const mask = Float32Array.from([
  ...[0, 0, 0, -1e9, -1e9, 0, 0, 0, 0, -1e9, 0, 0, 0, 0, 0],
  ...[-1e9, 0, 0, -1e9, -1e9, -1e9, 0, 0, 0, -1e9, -1e9, 0, 0, 0, 0],
]);
const grouped = [
  [2, 4, 3, 2],
  [2, 2, 5, 2],
  [2, 2, 5, 2],
];

const cases: { readonly [O in OpName]: readonly Case[] } = {
  identity: unary((g, x) => g.apply("identity", [x], {})[0]),
  neg: unary((g, x) => g.neg(x)),
  exp: unary((g, x) => g.exp(x)),
  sigmoid: unary((g, x) => g.sigmoid(x)),
  silu: unary((g, x) => g.silu(x)),
  gelu: unary((g, x) => g.gelu(x)),
  softmax: unary((g, x) => g.softmax(x)),
  logSoftmax: unary((g, x) => g.apply("logSoftmax", [x], {})[0]),
  rmsNormalise: unary((g, x) => g.rmsNormalise(x, 0.1)),
  reshape: unary((g, x) => g.reshape(x, [2, 3, 2])),
  transpose: [{ title: "a cycle of axes", operands: [[2, 3, 4]], build: (g, [x]) => g.transpose(x, [2, 0, 1]) }],
  add: binary("add"),
  sub: binary("sub"),
  mul: [...binary("mul"), { title: "an operand used twice", operands: [[3, 4]], build: (g, [x]) => g.mul(x, x) }],
  sqrt: unary((g, x) => g.sqrt(x)),
  relu: unary((g, x) => g.relu(x)),
  div: binary("div"),
  matmul: [
    ...products("matrices", [], false),
    ...products("batches of four axes", [2, 3], false),
    ...products("a batch and one matrix", [2, 3], true),
  ],
  concat: [
    {
      title: "rows",
      operands: [
        [2, 3],
        [1, 3],
      ],
      build: (g, parts) => g.concat(parts, 0),
    },
    {
      title: "columns",
      operands: [
        [2, 3],
        [2, 1],
        [2, 3],
      ],
      build: (g, parts) => g.concat(parts, 1),
    },
  ],
  split: [
    {
      title: "a part that nothing depends on",
      operands: [[2, 6]],
      build: (g, [x]) => g.exp(g.split(x, 1, [2, 1, 3])[2]),
    },
    {
      title: "unequal parts with different uses",
      operands: [[2, 6]],
      build: (g, [x]) => {
        const [a, b, c] = g.split(x, 1, [2, 1, 3]);
        return g.concat([g.mul(a, b), g.exp(c)], 1);
      },
    },
  ],
  sum: [
    { title: "one axis kept", operands: [[2, 3, 4]], build: (g, [x]) => g.sum(x, [1]) },
    { title: "two axes dropped", operands: [[2, 3, 4]], build: (g, [x]) => g.sum(x, [0, 2], false) },
  ],
  gather: [
    {
      title: "repeated ids in two axes",
      operands: [[4, 3]],
      build: (g, [table]) => g.gather(table, g.constant(Int32Array.of(1, 3, 1, 1, 0, 3), [2, 3])),
    },
  ],
  rotary: [
    {
      title: "positions that differ between rows",
      operands: [[2, 2, 3, 4]],
      build: (g, [x]) => {
        const table = (f: (angle: number) => number) =>
          g.constant(
            Float32Array.from({ length: 16 }, (_, i) => f(i)),
            [8, 2],
          );
        return g.rotary(x, g.constant(BigInt64Array.of(0n, 1n, 2n, 5n, 3n, 7n), [2, 3]), table(Math.cos), table(Math.sin));
      },
    },
  ],
  attention: [
    {
      title: "grouped heads and a mask",
      operands: grouped,
      build: (g, [q, k, v]) => g.attention(q, k, v, g.constant(mask, [2, 1, 3, 5]), 0.7),
    },
  ],
  selectLogprobs: [
    {
      title: "repeated targets",
      operands: [[4, 5]],
      build: (g, [logits]) => g.selectLogprobs(logits, g.constant(Int32Array.of(0, 4, 2, 2), [4, 1])),
    },
  ],

  entropy: unary((g, x) => g.entropy(x)),

  // These serve backward halves and sampling: nothing is differentiated through them.
  scatterRows: unary((g, x) => g.apply("scatterRows", [g.constant(Int32Array.of(0, 1, 0), [3, 1]), x, x], {})[0]),
  addAt: unary((g, x) => g.apply("addAt", [x, g.constant(Int32Array.of(0, 1, 0), [3, 1]), g.sum(x, [1])], {})[0]),
  attentionProbabilities: [
    {
      title: "grouped heads",
      operands: [grouped[0], grouped[1]],
      build: (g, [q, k]) => g.attentionProbabilities(q, k, g.input("mask", [2, 1, 3, 5]), 1),
    },
  ],
  int8Product: [
    {
      title: "a matrix in 8 bits",
      operands: [[2, 3]],
      build: (g, [x]) => {
        const integers = g.constant(Int8Array.of(1, -2, 3, 4, -5, 6), [3, 2]);
        return g.apply("int8Product", [x, integers, g.constant(Float32Array.of(0.5, 2), [2])], {})[0];
      },
    },
  ],
  int4Product: [
    {
      title: "a matrix in 4 bits",
      operands: [[2, 3]],
      build: (g, [x]) => {
        const packed = g.constant(
          Uint8Array.from({ length: 32 }, (_, i) => 17 * (i % 15)),
          [2, 1, 16],
        );
        return g.apply("int4Product", [x, packed, g.constant(Float32Array.of(0.5, 2), [2])], { outputs: 2 })[0];
      },
    },
  ],
  causalMask: [
    {
      title: "a window",
      operands: [[2, 3]],
      build: (g, [at]) => g.apply("causalMask", [g.input("seen", [2, 5], "int64"), at], { window: 2 })[0],
    },
  ],
  cachedAttention: [
    {
      title: "grouped heads",
      operands: [...grouped, ["R", 2, "S", 2], ["R", 2, "S", 2]],
      build: (g, operands) => {
        const inputs = [...operands, g.input("mask", [2, 1, 3, "S+5"])];
        return g.apply("cachedAttention", inputs, { scale: 1 })[0];
      },
    },
  ],
  columnAttention: [
    {
      title: "grouped heads",
      operands: [
        [2, 4, 1, 3],
        [2, 2, 3, 5],
        [2, 2, 3, 5],
      ],
      build: (g, operands) => g.apply("columnAttention", [...operands, g.input("mask", [2, 1, 1, 5])], { scale: 1 })[0],
    },
  ],
  rowInputs: [
    {
      title: "a window",
      operands: [[2, 5], [6]],
      build: (g, operands) => g.apply("rowInputs", operands, { heads: 2, size: 3, window: 2 })[3],
    },
  ],
  drawTokens: [
    {
      title: "a small vocabulary",
      operands: [
        [2, 7],
        [2, 1],
        [2, 1],
      ],
      build: (g, operands) => g.apply("drawTokens", operands, {})[2],
    },
  ],
  pick: [
    {
      title: "columns",
      operands: [[2, 7]],
      build: (g, [x]) => g.apply("pick", [x, g.input("ids", [2, 1], "int32")], {})[0],
    },
  ],
  scatterLast: [
    {
      title: "a column",
      operands: [
        [2, 7],
        [2, 1],
      ],
      build: (g, [x, column]) => g.apply("scatterLast", [x, g.input("ids", [2, 1], "int32"), column], {})[0],
    },
  ],
  zeros: [
    {
      title: "of a size",
      operands: [[3]],
      build: (g, [x]) => g.apply("zeros", [g.input("sizes", [1], "int64"), x], { shape: [3] })[0],
    },
  ],
};

const opNames = Object.keys(gradientRules) as OpName[];

describe.each(opNames)("%s", (op) => {
  test.each(cases[op])("$title", async (example) => {
    if (gradientRules[op] === null) {
      expect(() => differentiated(example)).toThrow(EngineError);
      expect(() => differentiated(example)).toThrow(`differentiated operator is "${op}"`);
      return;
    }
    const { graph, output } = differentiated(example);
    expect(graph.nodes.map((node) => node.op)).toContain(op);
    const session = await Session.open(graph, { threads: 1 });
    await expectTrueGradients(session, example.operands, output.shape, {}, randomStream(1, op, example.title));
    await session.close();
  });
});

test("one session serves batches of every size", async () => {
  // An embedding, attention over [B, heads, T, size] and back to rows: the reshapes of a transformer.
  const example: Case = {
    title: "symbolic sizes",
    operands: [
      [5, 4],
      [4, 4],
      [2, 4],
    ],
    build: (g, [table, queries, keys]) => {
      const x = g.gather(table, g.input("ids", ["B", "T"], "int32"));
      const heads = (t: Tensor, count: number) => g.transpose(g.reshape(t, ["B", "T", count, 2]), [0, 2, 1, 3]);
      const k = heads(g.matmul(x, keys, { transB: true }), 1);
      const attended = g.attention(heads(g.matmul(x, queries), 2), k, k, g.input("mask", ["B", 1, "T", "T"]), 1);
      const merged = g.reshape(g.transpose(attended, [0, 2, 1, 3]), ["B", "T", 4]);
      return g.sum(g.reshape(g.add(x, merged), ["B*T", 4]), [1], false);
    },
  };
  const { graph, output } = differentiated(example);
  const session = await Session.open(graph, { threads: 1 });
  for (const [B, T] of [
    [2, 3],
    [1, 4],
    [3, 1],
  ]) {
    const random = randomStream(1, B, T);
    const feeds = {
      ids: { data: Int32Array.from({ length: B * T }, () => random.integer(5)), shape: [B, T] },
      mask: { data: Float32Array.from({ length: B * T * T }, () => -random.uniform()), shape: [B, 1, T, T] },
    };
    expect(output.shape).toEqual(["B*T"]);
    await expectTrueGradients(session, example.operands, [B * T], feeds, random);
  }
  await session.close();
});

test.each([1, 2])("rows of a large batch that share an id add up, with %i threads", async (threads) => {
  const random = randomStream(1, "repeated ids");
  const [vocabulary, width, count] = [7, 64, 4096];
  const ids = Int32Array.from({ length: count }, () => random.integer(vocabulary));
  const { graph } = differentiated({
    title: "",
    operands: [[vocabulary, width]],
    build: (g, [table]) => g.gather(table, g.constant(ids, [count])),
  });
  const seed = normals(count * width, random);
  const expected = new Float64Array(vocabulary * width);
  ids.forEach((id, row) => {
    for (let column = 0; column < width; column++) expected[id * width + column] += seed[row * width + column];
  });
  const session = await Session.open(graph, { threads });
  const { gradient0 } = await session.run(
    {
      x0: { data: new Float32Array(vocabulary * width), shape: [vocabulary, width] },
      seed: { data: seed, shape: [count, width] },
    },
    ["gradient0"],
  );
  await session.close();
  // About 600 summands a sum, which stays below 100 and is rounded to 4e-6 each time; a lost summand is of size 1.
  expect(largest(expected.map((value, i) => value - gradient0[i]))).toBeLessThan(1e-3);
});

test("the gradients of several outputs add up", async () => {
  const g = new Graph();
  const x = g.input("x", [4, 5]);
  const targets = g.constant(Int32Array.of(0, 4, 2, 2), [4, 1]);
  const outputs = [g.selectLogprobs(x, targets), g.entropy(x)];
  const seeds = [g.input("weights", [4, 1]), g.input("entropyWeights", [4, 1])];
  g.output("gradient", differentiate(g, outputs, seeds, [x])[0]);
  const random = randomStream(1, "several outputs");
  const [logits, weights, entropyWeights] = [normals(20, random), normals(4, random), normals(4, random)];
  const session = await Session.open(g, { threads: 1 });
  const { gradient } = await session.run(
    {
      x: { data: logits, shape: [4, 5] },
      weights: { data: weights, shape: [4, 1] },
      entropyWeights: { data: entropyWeights, shape: [4, 1] },
    },
    ["gradient"],
  );
  await session.close();
  // The same in float64: w·(onehot − p) − h·p·(log p + H).
  [0, 4, 2, 2].forEach((target, row) => {
    const z = Array.from(logits.subarray(row * 5, row * 5 + 5));
    const logTotal = Math.log(z.reduce((sum, value) => sum + Math.exp(value), 0));
    const logp = z.map((value) => value - logTotal);
    const entropy = -logp.reduce((sum, value) => sum + Math.exp(value) * value, 0);
    logp.forEach((value, k) => {
      const p = Math.exp(value);
      const expected = weights[row] * (Number(k === target) - p) - entropyWeights[row] * p * (value + entropy);
      expect(gradient[row * 5 + k]).toBeCloseTo(expected, 5);
    });
  });
});

test("what has no gradient is refused by name", () => {
  const g = new Graph();
  const [x, unused] = [g.input("x", [2, 3]), g.input("unused", [2, 3])];
  const y = g.exp(x);
  expect(() => differentiate(g, [y], [y], [unused])).toThrow(/parameter is "unused"; expected one that an output depends on/);

  const shared = g.matmul(g.input("batch", [2, 3, 4]), x, { transA: true, transB: true });
  expect(() => differentiate(g, [shared], [shared], [x])).toThrow(EngineError);

  const ragged = g.concat([g.input("first", ["B", 2]), g.input("second", ["C", 2])], 0);
  expect(() => differentiate(g, [ragged], [ragged], [g.inputs[4]])).toThrow("expected sizes known when the graph is built");
});

/** The graph of a case, with inputs x0 …, its output y, the seed ∂L/∂y and outputs gradient0 … */
function differentiated({ operands, build }: Case): { graph: Graph; output: Tensor } {
  const graph = new Graph();
  const inputs = operands.map((shape, i) => graph.input(`x${i}`, shape));
  const output = build(graph, inputs);
  graph.output("y", output);
  const gradients = differentiate(graph, [output], [graph.input("seed", output.shape)], inputs);
  gradients.forEach((gradient, i) => {
    graph.output(`gradient${i}`, gradient);
  });
  return { graph, output };
}

/** Step of the central differences. */
const h = 1e-2;

/**
 * Compares gradients of L = Σ seed ∘ y with central differences along random directions d, one operand after the other.
 * With D_n = (L(x + n·h·d) − L(x − n·h·d)) / 2h:   Σ ∂L/∂x ∘ d = (8·D_1 − D_2) / 6 + O(h⁴)
 */
async function expectTrueGradients(
  session: Session,
  operands: readonly (readonly Dim[])[],
  outputShape: readonly Dim[],
  fixed: Readonly<Record<string, Value>>,
  random: Random,
): Promise<void> {
  const draw = (shape: readonly Dim[]): Value & { data: Float32Array } => {
    const sizes = shape.map(Number);
    return {
      data: normals(
        sizes.reduce((a, b) => a * b, 1),
        random,
      ),
      shape: sizes,
    };
  };
  const seed = draw(outputShape);
  const points = operands.map(draw);
  const feeds = { ...fixed, seed, ...Object.fromEntries(points.map((point, i) => [`x${i}`, point])) };
  const names = operands.map((_, i) => `gradient${i}`);
  const gradients = await session.run(feeds, names);
  for (const [i, { data, shape }] of points.entries()) {
    const gradient = gradients[names[i]];
    expect(gradient.length).toBe(data.length);
    for (let repeat = 0; repeat < 2; repeat++) {
      const direction = normals(data.length, random);
      const objectiveAt = async (h: number) => {
        const { y } = await session.run({ ...feeds, [`x${i}`]: { data: data.map((x, j) => x + h * direction[j]), shape } }, [
          "y",
        ]);
        return dot(seed.data, y);
      };
      const slope = async (steps: number) => ((await objectiveAt(steps * h)) - (await objectiveAt(-steps * h))) / (2 * h);
      const difference = (8 * (await slope(1)) - (await slope(2))) / 6;
      // Rounding of y in float32 adds about 1e-7 / h = 1e-5 a summand; truncation adds h⁴/5 = 1e-9 times a fifth derivative,
      // which may exceed the first by orders of magnitude. A missing term is of the size of the gradient itself.
      const tolerance = 5e-4 * Math.max(Math.hypot(...gradient), Math.hypot(...seed.data) / 10);
      expect(Math.abs(dot(gradient, direction) - difference), `operand ${i}`).toBeLessThan(tolerance);
    }
  }
}

function normals(length: number, random: Random): Float32Array {
  return Float32Array.from({ length }, () => random.normal());
}

function dot(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}

function largest(values: Float64Array): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}
