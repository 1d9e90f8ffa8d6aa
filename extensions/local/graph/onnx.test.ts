import { expect, test } from "vitest";
import type { Provider } from "../machine/device.ts";
import { Graph } from "./graph.ts";
import { besideModel, lower, serialise, serialiseWhole } from "./onnx.ts";
import type { OnnxNode } from "./operator.ts";
import type { Tensor } from "./tensor.ts";

/** A node as text: what it makes, its operator, what it reads and its attributes. */
function written({ type, inputs, outputs, attributes = {}, domain, exact }: OnnxNode): string {
  const values = Object.entries(attributes).map(([name, value]) => `${name}=${JSON.stringify(Object.values(value)[0])}`);
  const own = [...values, ...(domain === undefined ? [] : [domain]), ...(exact === true ? ["exact"] : [])];
  return `${outputs.join(", ")} = ${type}(${inputs.join(", ")})${own.length === 0 ? "" : ` ${own.join(" ")}`}`;
}

/** The nodes of a graph for a provider, without those that name its outputs. */
function nodesOf(build: (g: Graph) => Tensor | readonly Tensor[], provider: Provider = "cpu"): string[] {
  const g = new Graph();
  for (const [i, made] of [build(g)].flat().entries()) g.output(`y${i}`, made);
  return lower(g, provider)
    .nodes.filter(({ type, outputs }) => type !== "Identity" || !/^y\d$/.test(outputs[0] ?? ""))
    .map(written);
}
const providers = ["cpu", "webgpu", "cuda"] as const;
const onAll = (build: (g: Graph) => Tensor | readonly Tensor[]) =>
  Object.fromEntries(providers.map((provider) => [provider, nodesOf(build, provider)]));

test("a product is one node where there is a kernel for it, and otherwise one of matrices or copies of what is transposed", () => {
  const pair =
    (a: readonly (number | string)[], b: readonly (number | string)[], options = {}) =>
    (g: Graph) =>
      g.matmul(g.input("a", a), g.input("b", b), options);
  expect(onAll(pair(["N", 4], [4, 3]))).toMatchInlineSnapshot(`
    {
      "cpu": [
        "matmul_0_0 = MatMul(a, b)",
      ],
      "cuda": [
        "matmul_0_0 = MatMul(a, b)",
      ],
      "webgpu": [
        "matmul_0_0 = MatMul(a, b)",
      ],
    }
  `);
  expect(onAll(pair(["N", 4], [3, 4], { transB: true, alpha: 0.5, exact: true }))).toMatchInlineSnapshot(`
    {
      "cpu": [
        "matmul_0_0 = FusedMatMul(a, b) transA=0 transB=1 alpha=0.5 com.microsoft exact",
      ],
      "cuda": [
        "matmul_0_0 = FusedMatMul(a, b) transA=0 transB=1 alpha=0.5 com.microsoft exact",
      ],
      "webgpu": [
        "matmul_0_0 = Gemm(a, b) transA=0 transB=1 alpha=0.5",
      ],
    }
  `);
  expect(onAll(pair(["R", 2, 3, 4], ["R", 2, 5, 4], { transB: true, alpha: 0.5 }))).toMatchInlineSnapshot(`
    {
      "cpu": [
        "matmul_0_0 = FusedMatMul(a, b) transA=0 transB=1 alpha=0.5 com.microsoft",
      ],
      "cuda": [
        "matmul_0_0 = FusedMatMul(a, b) transA=0 transB=1 alpha=0.5 com.microsoft",
      ],
      "webgpu": [
        "t0 = Transpose(b) perm=[0,1,3,2]",
        "t1 = MatMul(a, t0)",
        "matmul_0_0 = Mul(t1, float32[0.5;1])",
      ],
    }
  `);
  expect(onAll(pair(["R", 3, 4], ["R", 3, 5], { transA: true }))).toMatchInlineSnapshot(`
    {
      "cpu": [
        "matmul_0_0 = FusedMatMul(a, b) transA=1 transB=0 alpha=1 com.microsoft",
      ],
      "cuda": [
        "matmul_0_0 = FusedMatMul(a, b) transA=1 transB=0 alpha=1 com.microsoft",
      ],
      "webgpu": [
        "t0 = Transpose(a) perm=[0,2,1]",
        "matmul_0_0 = MatMul(t0, b)",
      ],
    }
  `);
  // One token a row: a matrix, where the kernel takes the other factor as it lies.
  expect(nodesOf(pair(["R", 1, 4], [3, 4], { transB: true }), "webgpu")).toMatchInlineSnapshot(`
    [
      "t0 = Reshape(a, int64[-1,4])",
      "t1 = Gemm(t0, b) transA=0 transB=1 alpha=1",
      "matmul_0_0 = Reshape(t1, int64[-1,1,3])",
    ]
  `);
});

test("what a provider has no kernel for is spelled out", () => {
  expect(onAll((g) => g.apply("logSoftmax", [g.input("x", ["M", 5])], {}))).toMatchInlineSnapshot(`
    {
      "cpu": [
        "logSoftmax_0_0 = LogSoftmax(x) axis=-1",
      ],
      "cuda": [
        "logSoftmax_0_0 = LogSoftmax(x) axis=-1",
      ],
      "webgpu": [
        "t0 = ReduceMax(x, int64[-1])",
        "t1 = Sub(x, t0)",
        "t2 = Exp(t1)",
        "t3 = ReduceSum(t2, int64[-1])",
        "t4 = Log(t3)",
        "logSoftmax_0_0 = Sub(t1, t4)",
      ],
    }
  `);
  expect(onAll((g) => g.rmsNormalise(g.input("x", ["N", 2]), 0.5))).toMatchInlineSnapshot(`
    {
      "cpu": [
        "rmsNormalise_0_0, rmsNormalise_0_1 = SimplifiedLayerNormalization(x, float32[1;2]) axis=-1 epsilon=0.5",
      ],
      "cuda": [
        "rmsNormalise_0_0, rmsNormalise_0_1 = SimplifiedLayerNormalization(x, float32[1;2]) axis=-1 epsilon=0.5",
      ],
      "webgpu": [
        "rmsNormalise_0_0 = SimplifiedLayerNormalization(x, float32[1;2]) axis=-1 epsilon=0.5",
        "t0 = Mul(x, x)",
        "t1 = ReduceMean(t0, int64[-1])",
        "t2 = Add(t1, float32[0.5;1])",
        "t3 = Sqrt(t2)",
        "rmsNormalise_0_1 = Reciprocal(t3)",
      ],
    }
  `);
  expect(
    onAll((g) =>
      g.apply("scatterRows", [g.input("ids", ["M", 1], "int32"), g.input("x", ["M", 3]), g.input("like", ["V", 3])], {}),
    ),
  ).toMatchInlineSnapshot(`
    {
      "cpu": [
        "t0 = Shape(x)",
        "t1 = Expand(ids, t0)",
        "t2 = Shape(like)",
        "t3 = ConstantOfShape(t2)",
        "scatterRows_0_0 = ScatterElements(t3, t1, x) axis=0 reduction="add"",
      ],
      "cuda": [
        "t0 = Shape(x)",
        "t1 = Expand(ids, t0)",
        "t2 = Shape(like)",
        "t3 = ConstantOfShape(t2)",
        "scatterRows_0_0 = ScatterElements(t3, t1, x) axis=0 reduction="add"",
      ],
      "webgpu": [
        "t0 = Shape(x)",
        "t1 = Expand(ids, t0)",
        "t2 = Shape(like)",
        "t3 = Expand(float32[0;1,1], t2)",
        "scatterRows_0_0 = ScatterElements(t3, t1, x) axis=0 reduction="add"",
      ],
    }
  `);
});

test("a shape is numbers where they say all, one that is worked out, or read off inputs", () => {
  const reshaped =
    (from: readonly (number | string)[], to: readonly (number | string)[], also: readonly string[] = []) =>
    (g: Graph) => {
      const x = g.input("x", from);
      for (const dim of also) g.input(`of ${dim}`, [dim, 2]);
      return g.reshape(x, to);
    };
  const one = (...values: Parameters<typeof reshaped>) => nodesOf(reshaped(...values)).join("; ");
  expect([
    one(["B", 4], ["B", 2, 2]),
    one(["B", "T", 4], ["B*T", 4]),
    one(["B*T", 4], ["B", "T", 4], ["B", "T"]),
    one(["B*T", 4], ["T", "B", 4], ["B"]),
    one([2, 6], [3, 4]),
  ]).toMatchInlineSnapshot(`
    [
      "reshape_0_0 = Reshape(x, int64[0,2,2])",
      "reshape_0_0 = Reshape(x, int64[-1,4])",
      "size_B = Shape(of B) start=0 end=1; t0 = Concat(size_B, int64[-1], int64[4]) axis=0; reshape_0_0 = Reshape(x, t0)",
      "size_B = Shape(of B) start=0 end=1; t0 = Concat(int64[-1], size_B, int64[4]) axis=0; reshape_0_0 = Reshape(x, t0)",
      "reshape_0_0 = Reshape(x, int64[3,4])",
    ]
  `);
  expect(nodesOf(reshaped(["B*T", 4], ["B", 2, "T", 2], ["B", "T"]), "webgpu")).toMatchInlineSnapshot(`
    [
      "size_B = Shape(of B) start=0 end=1",
      "t0 = Concat(size_B, int64[2], int64[-1], int64[2]) axis=0",
      "reshape_0_0 = Reshape(x, t0)",
    ]
  `);
  // Of a value that has the shape already.
  const like = (g: Graph) => {
    const x = g.input("x", ["B", "T", 4]);
    return g.add(x, g.reshape(g.input("z", ["T", "B", 4]), ["B", "T", 4]));
  };
  expect(onAll(like)).toMatchInlineSnapshot(`
    {
      "cpu": [
        "size_B = Shape(x) start=0 end=1",
        "t0 = Concat(size_B, int64[-1], int64[4]) axis=0",
        "reshape_0_0 = Reshape(z, t0)",
        "add_1_0 = Add(x, reshape_0_0)",
      ],
      "cuda": [
        "t0 = Shape(x)",
        "reshape_0_0 = Reshape(z, t0)",
        "add_1_0 = Add(x, reshape_0_0)",
      ],
      "webgpu": [
        "t0 = Shape(x)",
        "reshape_0_0 = Reshape(z, t0)",
        "add_1_0 = Add(x, reshape_0_0)",
      ],
    }
  `);
});

test("attention over a cache, masks and decoding steps, node by node", () => {
  const cache = (g: Graph, name: string) => g.input(name, ["R", 2, 4, "S"]);
  const column = (g: Graph) =>
    g.apply("columnAttention", [g.input("q", ["R", 4, 1, 4]), cache(g, "k"), cache(g, "v"), g.input("mask", ["R", 1, 1, "S"])], {
      scale: 0.5,
    });
  expect(onAll(column)).toMatchInlineSnapshot(`
    {
      "cpu": [
        "t0 = Reshape(q, int64[0,2,2,4])",
        "t1 = FusedMatMul(t0, k) transA=0 transB=0 alpha=0.5 com.microsoft exact",
        "t2 = Add(t1, mask)",
        "t3 = Softmax(t2) axis=-1",
        "t4 = FusedMatMul(t3, v) transA=0 transB=1 alpha=1 com.microsoft exact",
        "columnAttention_0_0 = Reshape(t4, int64[0,4,1,4])",
      ],
      "cuda": [
        "t0 = Reshape(q, int64[0,2,2,4])",
        "t1 = FusedMatMul(t0, k) transA=0 transB=0 alpha=0.5 com.microsoft exact",
        "t2 = Add(t1, mask)",
        "t3 = Softmax(t2) axis=-1",
        "t4 = FusedMatMul(t3, v) transA=0 transB=1 alpha=1 com.microsoft exact",
        "columnAttention_0_0 = Reshape(t4, int64[0,4,1,4])",
      ],
      "webgpu": [
        "t0 = Mul(q, float32[0.5;1])",
        "t1 = Reshape(t0, int64[0,2,2,4])",
        "t2 = MatMul(t1, k) exact",
        "t3 = Add(t2, mask)",
        "t4 = Softmax(t3) axis=-1",
        "t5 = Transpose(t4) perm=[0,1,3,2]",
        "t6 = MatMul(v, t5)",
        "t7 = Transpose(t6) perm=[0,1,3,2]",
        "columnAttention_0_0 = Reshape(t7, int64[0,4,1,4])",
      ],
    }
  `);
  const causal = (window?: number) => (g: Graph) =>
    g.apply("causalMask", [g.input("seen", ["B", "S"], "int64"), g.input("positions", ["B", "T"], "int64")], { window });
  expect(nodesOf(causal())).toMatchInlineSnapshot(`
    [
      "t0 = CumSum(seen, int64[1])",
      "t1 = Sub(t0, int64[1])",
      "t2 = Unsqueeze(t1, int64[1,2])",
      "t3 = Unsqueeze(positions, int64[1,3])",
      "t4 = Unsqueeze(seen, int64[1,2])",
      "t5 = Cast(t4) to=9",
      "t6 = LessOrEqual(t2, t3)",
      "t7 = And(t6, t5)",
      "causalMask_0_0 = Where(t7, float32[0;1], float32[-1000000000;1])",
    ]
  `);
  expect(nodesOf(causal(3)).filter((node) => !nodesOf(causal()).includes(node))).toMatchInlineSnapshot(`
    [
      "t8 = Sub(t3, int64[3])",
      "t9 = Greater(t2, t8)",
      "t10 = And(t7, t9)",
      "causalMask_0_0 = Where(t10, float32[0;1], float32[-1000000000;1])",
    ]
  `);
  const rows = (window?: number) => (g: Graph) =>
    g
      .apply("rowInputs", [g.input("step", ["R", 5]), g.input("range", ["S"])], { heads: 2, size: 4, window })
      .filter((_, i) => i !== 3 || window !== undefined);
  expect(nodesOf(rows())).toMatchInlineSnapshot(`
    [
      "t0, t1, rowInputs_0_5, rowInputs_0_6, rowInputs_0_7 = Split(step, int64[1,1,1,1,1]) axis=1",
      "rowInputs_0_0 = Cast(t0) to=6",
      "rowInputs_0_1 = Cast(t1) to=7",
      "t2 = Reshape(t1, int64[-1,1,1,1])",
      "t3 = Cast(t2) to=6",
      "rowInputs_0_4 = Expand(t3, int64[1,2,4,1])",
      "t4 = Reshape(range, int64[1,1,1,-1])",
      "t5 = LessOrEqual(t4, t2)",
      "rowInputs_0_2 = Where(t5, float32[0;1], float32[-1000000000;1])",
    ]
  `);
  expect(nodesOf(rows(3)).filter((node) => !nodesOf(rows()).includes(node))).toMatchInlineSnapshot(`
    [
      "t6 = Sub(t2, float32[3;1])",
      "t7 = Greater(t4, t6)",
      "t8 = And(t5, t7)",
      "rowInputs_0_3 = Where(t8, float32[0;1], float32[-1000000000;1])",
    ]
  `);
  const cached = (g: Graph) => {
    const [q, k, v] = [g.input("q", ["B", 4, "T", 2]), g.input("k", ["B", 2, "T", 2]), g.input("v", ["B", 2, "T", 2])];
    const [oldK, oldV] = [g.input("oldK", ["B", 2, 1, "P", 2]), g.input("oldV", ["B", 2, 1, "P", 2])];
    return g.apply("cachedAttention", [q, k, v, oldK, oldV, g.input("mask", ["B", 1, "T", "P+T"])], { scale: 0.5 });
  };
  expect(onAll(cached)).toMatchInlineSnapshot(`
    {
      "cpu": [
        "size_P = Shape(oldK) start=3 end=4",
        "t0 = Mul(q, float32[0.5;1])",
        "t1 = Reshape(t0, int64[0,2,2,-1,2])",
        "t2 = Unsqueeze(k, int64[2])",
        "t3 = Unsqueeze(v, int64[2])",
        "t4 = FusedMatMul(t1, oldK) transA=0 transB=1 alpha=1 com.microsoft",
        "t5 = FusedMatMul(t1, t2) transA=0 transB=1 alpha=1 com.microsoft",
        "t6 = Concat(t4, t5) axis=4",
        "t7 = Add(t6, mask)",
        "t8 = Softmax(t7) axis=-1",
        "t9 = Slice(t8, int64[0], size_P, int64[4])",
        "t10 = Slice(t8, size_P, int64[1099511627776], int64[4])",
        "t11 = MatMul(t9, oldV)",
        "t12 = MatMul(t10, t3)",
        "t13 = Add(t11, t12)",
        "cachedAttention_0_0 = Reshape(t13, int64[0,4,-1,2])",
      ],
      "cuda": [
        "size_P = Shape(oldK) start=3 end=4",
        "t0 = Mul(q, float32[0.5;1])",
        "t1 = Reshape(t0, int64[0,2,2,-1,2])",
        "t2 = Unsqueeze(k, int64[2])",
        "t3 = Unsqueeze(v, int64[2])",
        "t4 = FusedMatMul(t1, oldK) transA=0 transB=1 alpha=1 com.microsoft",
        "t5 = FusedMatMul(t1, t2) transA=0 transB=1 alpha=1 com.microsoft",
        "t6 = Concat(t4, t5) axis=4",
        "t7 = Add(t6, mask)",
        "t8 = Softmax(t7) axis=-1",
        "t9 = Slice(t8, int64[0], size_P, int64[4])",
        "t10 = Slice(t8, size_P, int64[1099511627776], int64[4])",
        "t11 = MatMul(t9, oldV)",
        "t12 = MatMul(t10, t3)",
        "t13 = Add(t11, t12)",
        "cachedAttention_0_0 = Reshape(t13, int64[0,4,-1,2])",
      ],
      "webgpu": [
        "size_P = Shape(oldK) start=3 end=4",
        "t0 = Mul(q, float32[0.5;1])",
        "t1 = Reshape(t0, int64[0,2,2,-1,2])",
        "t2 = Unsqueeze(k, int64[2])",
        "t3 = Unsqueeze(v, int64[2])",
        "t5 = Transpose(oldK) perm=[0,1,2,4,3]",
        "t4 = MatMul(t1, t5)",
        "t7 = Transpose(t2) perm=[0,1,2,4,3]",
        "t6 = MatMul(t1, t7)",
        "t8 = Concat(t4, t6) axis=4",
        "t9 = Add(t8, mask)",
        "t10 = Softmax(t9) axis=-1",
        "t11 = Slice(t10, int64[0], size_P, int64[4])",
        "t12 = Slice(t10, size_P, int64[1099511627776], int64[4])",
        "t13 = MatMul(t11, oldV)",
        "t14 = MatMul(t12, t3)",
        "t15 = Add(t13, t14)",
        "cachedAttention_0_0 = Reshape(t15, int64[0,4,-1,2])",
      ],
    }
  `);
});

test("products in fewer bits, node by node", () => {
  const int8 = (g: Graph) =>
    g.apply("int8Product", [g.input("x", ["N", 4]), g.input("w", [4, 3], "int8"), g.input("s", [3])], {});
  expect(nodesOf(int8)).toMatchInlineSnapshot(`
    [
      "t0 = Abs(x)",
      "t1 = ReduceMax(t0, int64[-1])",
      "t2 = Max(t1, float32[1.0000000031710769e-30;1])",
      "t3 = Div(t2, float32[127;1])",
      "t4 = Div(x, t3)",
      "t5 = Round(t4)",
      "t6 = Add(t5, float32[128;1])",
      "t7 = Cast(t6) to=2",
      "t8 = Cast(float32[128;1]) to=2",
      "t9 = Squeeze(t8)",
      "t10 = MatMulInteger(t7, w, t9)",
      "t11 = Cast(t10) to=1",
      "t12 = Mul(t11, s)",
      "int8Product_0_0 = Mul(t12, t3)",
    ]
  `);
  const int4 = (g: Graph) =>
    g.apply("int4Product", [g.input("x", ["N", 40]), g.input("w", [3, 2, 16], "uint8"), g.input("s", [6])], { outputs: 3 });
  expect(nodesOf(int4)).toMatchInlineSnapshot(`
    [
      "int4Product_0_0 = MatMulNBits(x, w, s) K=40 N=3 bits=4 block_size=32 accuracy_level=4 com.microsoft",
    ]
  `);
});

test.each<[what: string, build: (g: Graph) => unknown, message: string]>([
  [
    "a sum",
    (g) => g.add(g.input("a", [2, 3]), g.input("b", [2, 4])),
    'Add is "a[2, 3] with b[2, 4]"; expected shapes that fit each other.',
  ],
  ["inner sizes", (g) => g.matmul(g.input("a", [2, 3]), g.input("b", [4, 3])), 'matmul is "a[2, 3] with b[4, 3]"'],
  ["batches", (g) => g.matmul(g.input("a", ["B", 2, 3]), g.input("b", ["C", 3, 2])), "matmul is"],
  ["parts", (g) => g.split(g.input("x", [2, 5]), 1, [2, 2]), 'split is "x[2, 5]"'],
  [
    "rows",
    (g) => g.apply("scatterRows", [g.input("i", ["M", 1]), g.input("x", ["M", 2]), g.input("l", ["V", 3])], {}),
    "scatterRows is",
  ],
  [
    "ids",
    (g) => g.apply("scatterRows", [g.input("i", ["N", 1]), g.input("x", ["M", 3]), g.input("l", ["V", 3])], {}),
    "scatterRows is",
  ],
  [
    "axes of ids",
    (g) => g.apply("scatterRows", [g.input("i", ["M"]), g.input("x", ["M", 3]), g.input("l", ["V", 3])], {}),
    "scatterRows is",
  ],
  [
    "scales",
    (g) => g.apply("int8Product", [g.input("x", [1, 4]), g.input("w", [4, 3]), g.input("s", [4])], {}),
    "int8Product is",
  ],
  [
    "axes of scales",
    (g) => g.apply("int8Product", [g.input("x", [1, 4]), g.input("w", [4, 3]), g.input("s", [3, 1])], {}),
    "int8Product is",
  ],
  [
    "columns",
    (g) => g.apply("int8Product", [g.input("x", [1, 5]), g.input("w", [4, 3]), g.input("s", [3])], {}),
    "int8Product is",
  ],
  [
    "blocks",
    (g) => g.apply("int4Product", [g.input("x", [1, 33]), g.input("w", [3, 1, 16]), g.input("s", [3])], { outputs: 3 }),
    "int4Product is",
  ],
  [
    "outputs",
    (g) => g.apply("int4Product", [g.input("x", [1, 32]), g.input("w", [4, 1, 16]), g.input("s", [3])], { outputs: 3 }),
    "int4Product is",
  ],
  [
    "block scales",
    (g) => g.apply("int4Product", [g.input("x", [1, 32]), g.input("w", [3, 1, 16]), g.input("s", [4])], { outputs: 3 }),
    "int4Product is",
  ],
  [
    "heads",
    (g) =>
      g.attention(
        g.input("q", [1, 3, 1, 2]),
        g.input("k", [1, 2, 1, 2]),
        g.input("v", [1, 2, 1, 2]),
        g.input("m", [1, 1, 1, 1]),
        1,
      ),
    "attention is",
  ],
  [
    "sizes of heads",
    (g) => g.attentionProbabilities(g.input("q", [1, 2, 1, 4]), g.input("k", [1, 2, 1, 2]), g.input("m", [1, 1, 1, 1]), 1),
    "attentionProbabilities is",
  ],
  [
    "values",
    (g) =>
      g.attention(
        g.input("q", [1, 2, 1, 2]),
        g.input("k", [1, 2, 1, 2]),
        g.input("v", [1, 2, 2, 2]),
        g.input("m", [1, 1, 1, 1]),
        1,
      ),
    "attention is",
  ],
  [
    "a number of heads that is not known",
    (g) => g.attentionProbabilities(g.input("q", [1, "H", 1, 2]), g.input("k", [1, 2, 1, 2]), g.input("m", [1, 1, 1, 1]), 1),
    'attention is "q[1, H, 1, 2]"',
  ],
  ["a constant", (g) => g.constant(new Float32Array(5), [2, 3], "c"), "constant c is [2,3]; expected a shape of 5 elements"],
])("%s that do not fit are refused where they are put together", (_, build, message) => {
  expect(() => build(new Graph())).toThrow(message);
});

test.each<[what: string, build: (g: Graph) => Tensor | readonly Tensor[], message: string]>([
  ["a norm over a size that is not known", (g) => g.rmsNormalise(g.input("x", ["N", "D"]), 1), 'rmsNormalise is "x[N, D]"'],
  [
    "a column of two tokens",
    (g) =>
      g.apply(
        "columnAttention",
        [g.input("q", [1, 2, 2, 4]), g.input("k", [1, 2, 4, 3]), g.input("v", [1, 2, 4, 3]), g.input("m", [1, 1, 1, 3])],
        { scale: 1 },
      ),
    'columnAttention is "q[1, 2, 2, 4] with k[1, 2, 4, 3]"',
  ],
  [
    "heads that are not shared evenly",
    (g) =>
      g.apply(
        "columnAttention",
        [g.input("q", [1, 3, 1, 4]), g.input("k", [1, 2, 4, 3]), g.input("v", [1, 2, 4, 3]), g.input("m", [1, 1, 1, 3])],
        { scale: 1 },
      ),
    "columnAttention is",
  ],
  [
    "a size of no input",
    (g) => g.reshape(g.input("x", ["B*T", 4]), ["A", "C", 4]),
    'symbolic size is "C"; expected a size of one of the graph\'s inputs.',
  ],
])("%s is refused where a graph is written", (_, build, message) => {
  expect(() => nodesOf(build)).toThrow(message);
});

test("nodes that nothing uses are left out, and numbers that are equal are one constant", () => {
  const g = new Graph();
  const x = g.input("x", ["N", 2]);
  g.exp(x);
  g.output("y", g.mul(g.add(x, g.scalar(2)), g.sum(x, [1])));
  g.dropInput("x");
  expect(g.inputs).toEqual([]);
  const { nodes, constants } = lower(g, "cpu");
  expect(nodes.map(({ type, of }) => [type, of])).toEqual([
    ...[
      ["Add", "add"],
      ["ReduceSum", "sum"],
      ["Mul", "mul"],
      ["Identity", "identity"],
    ],
  ]);
  expect(
    constants.map(({ tensor: { name, shape, type }, data }) => [name, shape, type, Array.from<number | bigint>(data)]),
  ).toEqual([
    ["constant_1", [1], "float32", [2]],
    ["int64[1]", [1], "int64", [1n]],
  ]);
  expect(nodesOf((h) => h.rmsNormalise(h.rmsNormalise(h.input("x", ["N", 2]), 1), 2)).length).toBe(2);
});

test("a node is of the operator and the module that it belongs to, for profiles", () => {
  const g = new Graph();
  const weight = g.input("model.layers.3.self_attn.q_proj.weight", [4, 4]);
  const [head, norm] = [g.input("lm_head.weight", [5, 4]), g.input("model.norm.weight", [4])];
  const x = g.mul(g.matmul(g.input("x", ["N", 4]), weight, { transB: true }), norm);
  g.output("y", g.matmul(x, head, { transB: true }));
  expect(lower(g, "cpu").nodes.map(({ of }) => of)).toEqual(["matmul q_proj", "mul norm", "matmul lm_head", "identity"]);
});

test("a model's bytes are protobuf's, by the field numbers of onnx.proto; large constants are beside it", async () => {
  const g = new Graph();
  const large = g.constant(new Float32Array(2 ** 14).fill(1), [2 ** 14], "large");
  const x = g.input("x", ["N", 2 ** 14]);
  g.output("y", g.add(g.concat([g.softmax(x)], 0), large));
  const bytes = Buffer.from(await serialise(g));
  expect(bytes.length).toBeLessThan(1000);
  expect(serialiseWhole(g).length).toBeGreaterThan(2 ** 16);
  expect(bytes.toString("latin1").replaceAll(/[^\x20-\x7e]+/g, "|")).toMatchInlineSnapshot(
    `"|retrograde:|=|x|softmax_0_0|softmax #0"|Softmax*|axis|:|;|softmax_0_0|concat_1_0|concat #1"|Concat*|axis|:|+|concat_1_0|large|add_2_0|add #2"|Add:|%|add_2_0|y|identity #3"|Identity:|retrograde*@|B|largej|location|largej|offset|0j|length|65536p|Z|x|N|b|y|N|B|B|com.microsoft|"`,
  );
});

test("constants of 64 KiB are beside the model, as their own bytes; smaller ones are in it", () => {
  const g = new Graph();
  const large = new Float32Array(2 ** 14);
  g.constant(large, [2 ** 14], "large");
  g.constant(new Float32Array(2 ** 14 - 1), [2 ** 14 - 1], "small");
  expect(besideModel(g).map(({ path, data }) => [path, data.byteLength, data.buffer === large.buffer])).toEqual([
    ["large", 2 ** 16, true],
  ]);
});
