import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { Graph } from "../extensions/local/graph/graph.ts";
import { Session, type Value } from "../extensions/local/graph/session.ts";
import type { Tensor } from "../extensions/local/graph/tensor.ts";
import { loadModel } from "../extensions/local/model/model-folder.ts";
import { SamplingGraph } from "../extensions/local/sampling/sampling-graph.ts";
import { describeOn, type Gpu, gpus, missing } from "./describe-on.ts";
import { goldenSuite } from "./golden-models.ts";

/** Of a GPU that somebody chose, or of SwiftShader (vitest.config.ts). */
const driver = process.env.VK_DRIVER_FILES;
test.skipIf(driver === undefined)("where a driver is named, WebGPU starts, so that nothing below is skipped", () => {
  expect(missing.webgpu).toBeUndefined();
});

for (const provider of gpus)
  describeOn(provider, "golden models", () => {
    goldenSuite({ threads: 1, provider }, { thorough: false });
  });

/** Numbers between -1 and 1 that differ from each other. */
const numbers = (shape: readonly number[], seed = 1): Value => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin((i + 1) * 12.9898 * seed)),
  shape,
});
const ids = (shape: readonly number[], below: number): Value => ({
  data: Int32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => (i * 7) % below),
  shape,
});

interface Case {
  readonly name: string;
  readonly build: (g: Graph) => readonly Tensor[];
  readonly feeds: Readonly<Record<string, Value>>;
}

const matrices = { x: numbers([5, 6]), z: numbers([5, 6], 2) };
const pair = (g: Graph): [Tensor, Tensor] => [g.input("x", ["A", "B"]), g.input("z", ["A", "B"])];
const cases: readonly Case[] = [
  {
    name: "element-wise operators",
    feeds: matrices,
    build: (g) => {
      const [x, z] = pair(g);
      const sum = g.add(x, z);
      const [logSoftmax] = g.apply("logSoftmax", [sum], {});
      return [g.sub(x, z), g.mul(x, z), g.neg(sum), g.exp(sum), g.sigmoid(sum), g.silu(sum), g.softmax(sum), logSoftmax];
    },
  },
  {
    name: "products of transposed and scaled matrices",
    feeds: matrices,
    build: (g) => {
      const [x, z] = pair(g);
      return [g.matmul(x, z, { transB: true, alpha: 0.5 }), g.matmul(x, z, { transA: true, alpha: 0.25 })];
    },
  },
  {
    name: "products of transposed and scaled batches",
    feeds: { x: numbers([4, 2, 3, 5]), z: numbers([4, 2, 3, 5], 2) },
    build: (g) => {
      const [x, z] = [g.input("x", ["A", 2, 3, 5]), g.input("z", ["A", 2, 3, 5])];
      return [g.matmul(x, z, { transA: true, alpha: 0.5 }), g.matmul(x, z, { transB: true })];
    },
  },
  {
    // The second output, too: WebGPU's kernel gives the mean in its place.
    name: "root-mean-square norm and inverse deviation",
    feeds: { x: numbers([4, 3, 8]) },
    build: (g) => g.apply("rmsNormalise", [g.input("x", ["A", 3, 8])], { epsilon: 1e-6 }),
  },
  {
    // 300 updates of 3 rows: lost if threads overwrite each other's sums.
    name: "look-up, and sums at repeated rows",
    feeds: { table: numbers([9, 6]), rows: ids([300, 1], 3), updates: numbers([300, 6], 2) },
    build: (g) => {
      const [table, rows, updates] = [g.input("table", [9, 6]), g.input("rows", ["M", 1], "int32"), g.input("updates", ["M", 6])];
      return [g.gather(table, rows), g.apply("scatterRows", [rows, updates, table], {})[0]];
    },
  },
  {
    name: "log-probs of targets, entropy and sums at columns",
    feeds: { logits: numbers([10, 6]), targets: ids([10, 1], 6) },
    build: (g) => {
      const [logits, targets] = [g.input("logits", ["M", 6]), g.input("targets", ["M", 1], "int32")];
      const chosen = g.selectLogprobs(logits, targets);
      return [chosen, g.entropy(logits), g.apply("addAt", [logits, targets, chosen], {})[0]];
    },
  },
  {
    name: "rotation by int64 positions",
    feeds: { x: numbers([2, 2, 3, 8]), positions: { data: BigInt64Array.of(0n, 5n, 3n, 9n, 15n, 2n), shape: [2, 3] } },
    build: (g) => {
      const [cosine, sine] = [numbers([16, 4]), numbers([16, 4], 3)].map(({ data, shape }) => g.constant(data, shape));
      return [g.rotary(g.input("x", ["B", 2, "T", 8]), g.input("positions", ["B", "T"], "int64"), cosine, sine)];
    },
  },
  {
    name: "sums, transposes, parts",
    feeds: { x: numbers([5, 6]) },
    build: (g) => {
      const x = g.input("x", ["A", 6]);
      return [g.sum(x, [0]), g.sum(x, [0, 1]), g.transpose(x, [1, 0]), g.concat([x, x], 1), ...g.split(x, 1, [2, 4])];
    },
  },
  {
    name: "a shape that is known only when the graph runs",
    feeds: { x: numbers([2, 3, 4]), flat: numbers([6, 4], 2) },
    build: (g) => [g.add(g.input("x", ["A", "B", 4]), g.reshape(g.input("flat", ["A*B", 4]), ["A", "B", 4]))],
  },
];

async function compute({ build, feeds }: Case, provider: "cpu" | Gpu): Promise<Float32Array[]> {
  const g = new Graph();
  build(g).forEach((tensor, i) => {
    g.output(`y${i}`, tensor);
  });
  const session = await Session.open(g, { threads: 1, provider });
  const names = g.outputs.map(({ name }) => name);
  const results = await session.run(feeds, names);
  await session.close();
  return names.map((name) => results[name]);
}

for (const provider of gpus)
  describeOn(provider, "operators", () => {
    test.each(cases)("$name: as on the CPU", async (each) => {
      const [expected, computed] = [await compute(each, "cpu"), await compute(each, provider)];
      expect(computed.length).toBe(expected.length);
      // Sums of 100 numbers of size 1 in another order differ by some 1e-6.
      computed.forEach((values, i) => {
        expect(values.length).toBe(expected[i].length);
        values.forEach((value, j) => {
          expect(Math.abs(value - expected[i][j]), `element ${j} of output ${i}`).toBeLessThan(1e-5);
        });
      });
    });

    test("an operator that it would leave to the CPU is refused when the session is made, by name", async () => {
      const g = new Graph();
      const [x, sizes] = [g.input("x", ["A*B", 4]), g.input("sizes", ["A"])];
      // No value has this shape yet, so that its sizes would have to be put together in a vector.
      g.output("before", g.exp(sizes));
      g.output("y", g.reshape(x, ["A", "B", 4]));
      await expect(Session.open(g, { threads: 1, provider })).rejects.toThrow(`operator Concat on ${provider}`);
      await (await Session.open(g, { threads: 1, provider: "cpu" })).close();
    });
  });

const folder = join(import.meta.dirname, "golden/models/qwen3");

describeOn("webgpu", "weights that are inputs", () => {
  test("weights that changed are copied again", async () => {
    const { config, parameters: tensors } = await loadModel(folder);
    const parameters = new Map([...tensors].map(([name, { data }]) => [name, data]));
    const cache = Array.from({ length: config.layers }, () => new Float32Array(config.kvHeads * config.headDim));
    const distribution = async (weightsAsInputs: boolean) => {
      const graph = await SamplingGraph.open(config, parameters, { threads: 1, provider: "webgpu", weightsAsInputs });
      const inputs = { rows: 1, chunk: 1, cached: 1, tokens: Int32Array.of(3), positions: BigInt64Array.of(0n) };
      const mask = Float32Array.of(-1e9, 0); // nothing is in the cache
      const rest = { mask, keys: cache, values: cache, read: Int32Array.of(0), inverseTemperatures: Float32Array.of(1) };
      const { probabilities } = await graph.step({ ...inputs, ...rest }, { logits: false });
      await graph.close();
      return probabilities;
    };
    const before = await distribution(true);
    for (const data of parameters.values()) data.forEach((value, i) => void (data[i] = value * 0.5));
    const [after, expected] = [await distribution(true), await distribution(false)];
    const distance = (a: Float32Array, b: Float32Array) => Math.max(...a.map((value, i) => Math.abs(value - b[i])));
    expect(distance(after, expected)).toBeLessThan(1e-5);
    expect(distance(after, before)).toBeGreaterThan(1e-3);
  });
});

const run = promisify(execFile);
const jiti = join(dirname(createRequire(import.meta.url).resolve("jiti/package.json")), "lib/jiti-cli.mjs");

async function ask(device: string, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const program = join(import.meta.dirname, "device-process.ts");
  try {
    return (await run(process.execPath, [jiti, program, device], { env })).stdout;
  } catch (error) {
    // SwiftShader crashes in two of five processes as they end, when all is said.
    if (error instanceof Error && "signal" in error && error.signal === "SIGSEGV" && "stdout" in error)
      return String(error.stdout);
    throw error;
  }
}

// Elsewhere than on Linux, no variable hides the driver.
test.skipIf(process.platform !== "linux")("without a driver, WebGPU says what to install", async () => {
  const env = { ...process.env, VK_DRIVER_FILES: "/nowhere.json" };
  expect(await ask("webgpu", env)).toContain("WebGPU adapter is missing; expected a graphics driver for Vulkan");
});

test.skipIf(process.platform !== "linux")(
  "auto says what it took and what else it tried, and never a driver in software",
  async () => {
    const env = { ...process.env, VK_DRIVER_FILES: "/nowhere.json" };
    expect(await ask("auto", env)).toMatch(/^(cpu|cuda \d+ GFLOP\/s), the fastest here \(.*webgpu not available.*\)/);
    if (process.env.VK_DRIVER_FILES?.includes("swiftshader"))
      expect(await ask("auto")).toMatch(/^(cpu|cuda) \d+ GFLOP\/s, the fastest here \(.*webgpu 0\.\d GFLOP\/s.*\)/);
  },
);

test("without its libraries, CUDA says what to install", async () => {
  expect(await ask("cuda")).toMatch(
    /^cuda$|(libcuda\.so\.1|the CUDA version of NVIDIA's driver) is .*; expected NVIDIA's driver from 580 on|CUDA provider is missing.*install cuda/m,
  );
});
