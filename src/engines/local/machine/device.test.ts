import type { InferenceSession } from "onnxruntime-common";
import { expect, test, vi } from "vitest";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/onnx.ts";
import type { Provider } from "./device.ts";
import { nodeRuntime, type Runtime } from "./runtime.ts";

test("on CUDA large constants are beside the model, and products are in float32", async () => {
  const graph = new Graph();
  const data = Float32Array.from({ length: 128 * 128 }, (_, i) => i);
  graph.output("y", graph.add(graph.input("x", [128, 128]), graph.constant(data, [128, 128], "large")));
  const node = await nodeRuntime();
  let beside: unknown;
  const runtime: Runtime = {
    ...node,
    InferenceSession: {
      create(model, options) {
        expect(model.byteLength).toBeLessThan(data.byteLength);
        beside = options.externalData;
        return node.InferenceSession.create(model, { ...options, executionProviders: ["cpu"], extra: {} });
      },
    },
  };
  vi.stubEnv("NVIDIA_TF32_OVERRIDE", undefined);
  const session = await Session.open(graph, { threads: 1, provider: "cuda", runtime });
  const { y } = await session.run({ x: { data: new Float32Array(data.length).fill(1), shape: [128, 128] } }, ["y"]);
  await session.close();
  expect(y).toEqual(data.map((value) => value + 1));
  expect(beside).toMatchObject([{ path: "large" }]);
  expect(process.env.NVIDIA_TF32_OVERRIDE).toBe("0");
  vi.unstubAllEnvs();
});

test("no thread of a session spins while it waits, on any provider", async () => {
  const graph = new Graph();
  graph.output("y", graph.neg(graph.input("x", [1])));
  const given: InferenceSession.SessionOptions[] = [];
  const node = await nodeRuntime();
  const runtime: Runtime = {
    ...node,
    InferenceSession: {
      create(model, options) {
        given.push(options);
        return node.InferenceSession.create(model, { ...options, executionProviders: ["cpu"], extra: {} });
      },
    },
  };
  const providers: readonly Provider[] = ["cpu", "webgpu", "cuda"];
  for (const provider of providers) await (await Session.open(graph, { threads: 2, provider, runtime })).close();
  for (const { extra } of given)
    expect(extra?.session).toMatchObject({ intra_op: { allow_spinning: "0" }, inter_op: { allow_spinning: "0" } });
  expect(given).toHaveLength(3);
});
