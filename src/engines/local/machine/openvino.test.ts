import { createRequire } from "node:module";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { expect, test } from "vitest";
import { chooseProvider } from "../device-choice.ts";
import { createLocalEngine } from "../engine.ts";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/onnx.ts";
import { openvinoRuntime } from "./openvino.ts";

const installed = (() => {
  try {
    return createRequire(import.meta.url).resolve("openvino-node") !== undefined;
  } catch {
    return false;
  }
})();

test.skipIf(installed)("without the package, the device is refused with the command that installs it", async () => {
  await expect(chooseProvider("openvino", 1)).rejects.toThrow(
    /OpenVINO is missing; expected the package openvino-node, 2026\.4 or later, with its binaries\. Run `npm install openvino-node@2026\.4\.0/,
  );
});

/**
 * The calls of openvino-node with ONNX Runtime behind them: the vendor's binaries are not on the npm registry. It tries what this package adds, and
 * not OpenVINO itself. docs/gpu.md says what was tried with that.
 */
const types: Readonly<Record<string, "float32" | "int32" | "int64">> = { f32: "float32", i32: "int32", i64: "int64" };
const configs: Record<string, string>[] = [];
let running = 0;
class OvTensor {
  readonly tensor: Tensor;
  constructor(type: string, shape: number[], data: Float32Array) {
    this.tensor = new Tensor(types[type], data, shape);
  }
}
const addon = {
  Tensor: OvTensor,
  Core: class {
    readModel = async (model: Uint8Array) => ({ model });
    async compileModel({ model }: { model: Uint8Array }, device: string, config: Record<string, string>) {
      expect(device).toBe("CPU");
      configs.push(config);
      const session = await InferenceSession.create(model);
      return {
        createInferRequest() {
          let busy = false;
          return {
            async inferAsync(inputs: Record<string, OvTensor>) {
              expect(busy).toBe(false); // a request runs one inference at a time
              busy = true;
              running++;
              const feeds = Object.fromEntries(Object.entries(inputs).map(([name, { tensor }]) => [name, tensor]));
              const outputs = await session.run(feeds);
              busy = false;
              return outputs;
            },
          };
        },
      };
    }
  },
};

test("a training step and sampling through OpenVINO's calls are those of ONNX Runtime, in bfloat16 as asked for", async () => {
  const runtime = await openvinoRuntime(async () => ({ addon }));
  const model = new URL("../../../../test/golden/models/gemma3_text", import.meta.url).pathname;
  const samples = [{ trajectory: "a", turn: 0, context: [5, 6, 7], action: [8, 9, 10, 11, 12, 13] }];
  const steps = { learningRate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
  const results: (readonly number[])[] = [];
  for (const given of [runtime, undefined]) {
    const engine = await createLocalEngine({ model, threads: 3, runtime: given });
    await engine.forwardBackward(samples, [[1, -1, 1, 1, -1, 1]], { temperature: 1 });
    await engine.step(steps);
    const [logprobs] = await engine.logprobs(samples, { temperature: 1 });
    const { tokens } = await engine.sample({ context: [5, 6, 7], maxTokens: 9, stopTokens: [], seed: 2 });
    results.push(logprobs, tokens);
    await engine.dispose();
  }
  expect(running).toBeGreaterThan(10);
  expect(configs[0]).toEqual({ INFERENCE_NUM_THREADS: "3", INFERENCE_PRECISION_HINT: "bf16", PERFORMANCE_HINT: "LATENCY" });
  results[0].forEach((logprob, i) => {
    expect(logprob).toBeCloseTo(results[2][i], 5);
  });
  expect(results[1]).toEqual(results[3]);
});

test("an older version is named by what it lacks", async () => {
  class Core {
    readModel = async () => {
      throw new Error("OpenVINO does not support the following ONNX operations: com.microsoft.FusedMatMul");
    };
  }
  const graph = new Graph();
  graph.output("y", graph.neg(graph.input("x", [1])));
  const runtime = await openvinoRuntime(async () => ({ addon: { ...addon, Core } }));
  await expect(Session.open(graph, { threads: 1, provider: "openvino", runtime })).rejects.toThrow(
    'OpenVINO\'s operators is "com.microsoft.FusedMatMul"; expected OpenVINO 2026.4 or later',
  );
});
