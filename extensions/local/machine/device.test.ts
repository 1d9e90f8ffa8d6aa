import type { InferenceSession } from "onnxruntime-common";
import { expect, test } from "vitest";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/session.ts";
import { hasKernel, isGpu, type Kernel, type Provider, providerOptions } from "./device.ts";
import { defaultRuntime } from "./native.ts";
import type { Runtime } from "./runtime.ts";

test("on CUDA large constants are beside the model, and products are in float32", async () => {
  const graph = new Graph();
  const data = Float32Array.from({ length: 128 * 128 }, (_, i) => i);
  graph.output("y", graph.add(graph.input("x", [128, 128]), graph.constant(data, [128, 128], "large")));
  const node = await defaultRuntime();
  let given: InferenceSession.SessionOptions | undefined;
  const runtime: Runtime = {
    ...node,
    InferenceSession: {
      create(model, options) {
        expect(model.byteLength).toBeLessThan(data.byteLength);
        given = options;
        return node.InferenceSession.create(model, { ...options, executionProviders: ["cpu"], extra: {} });
      },
    },
  };
  const session = await Session.open(graph, { threads: 1, provider: "cuda", runtime });
  const { y } = await session.run({ x: { data: new Float32Array(data.length).fill(1), shape: [128, 128] } }, ["y"]);
  await session.close();
  expect(y).toEqual(data.map((value) => value + 1));
  expect(given).toMatchObject({ externalData: [{ path: "large" }], executionProviders: [{ name: "cuda", use_tf32: "0" }] });
});

test("no thread of a session spins while it waits, on any provider", async () => {
  const graph = new Graph();
  graph.output("y", graph.neg(graph.input("x", [1])));
  const given: InferenceSession.SessionOptions[] = [];
  const node = await defaultRuntime();
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

test("memory that runs out while a session is opened or runs is called so, with what to do on that device", async () => {
  const graph = new Graph();
  graph.output("y", graph.neg(graph.input("x", [1])));
  const node = await defaultRuntime();
  // As ONNX Runtime 1.30 said it on an H200 that several runs shared.
  const told = `Non-zero status code returned while running Add node. Name:'' Status Message: ${"bfc_arena.cc:360 ".repeat(9)}Failed to allocate memory for requested buffer of size 8`;
  const opening: Runtime = { ...node, InferenceSession: { create: () => Promise.reject(new Error(told)) } };
  const opened = Session.open(graph, { threads: 1, provider: "cuda", runtime: opening });
  await expect(opened).rejects.toThrow(/^the GPU's memory is "used up"\. End other programs on the GPU\..* --resume\.$/);

  const running: Runtime = {
    ...node,
    InferenceSession: { create: async () => ({ run: () => Promise.reject(new Error(told)), release: async () => {} }) },
  };
  const session = await Session.open(graph, { threads: 1, runtime: running });
  const run = session.run({ x: { data: Float32Array.of(1), shape: [1] } }, ["y"]);
  await expect(run).rejects.toThrow(/^memory is "used up"\. End other programs, or set engine\.memory/);
});

test("each provider's options keep operators on it, products in the precision that is asked for, and record runs on demand", () => {
  const sleeping = { intra_op: { allow_spinning: "0" }, inter_op: { allow_spinning: "0" } };
  const session = { ...sleeping, disable_cpu_ep_fallback: "1" };
  expect(providerOptions("cpu", true, "tf32")).toEqual({ executionProviders: ["cpu"], extra: { session: sleeping } });
  const webgpu = (enableGraphCapture: string) => ({
    executionProviders: ["webgpu"],
    extra: { session, ep: { webgpuexecutionprovider: { enableGraphCapture } } },
  });
  expect([providerOptions("webgpu"), providerOptions("webgpu", true)]).toEqual([webgpu("0"), webgpu("1")]);
  const cuda = (use_tf32: string, enable_cuda_graph: string) => ({
    executionProviders: [{ name: "cuda", arena_extend_strategy: "kSameAsRequested", use_tf32, enable_cuda_graph }],
    extra: { session },
  });
  expect([
    providerOptions("cuda"),
    providerOptions("cuda", true, "float32"),
    providerOptions("cuda", false, "tf32"),
    providerOptions("cuda", false, "bfloat16"),
  ]).toEqual([cuda("0", "0"), cuda("0", "1"), cuda("1", "0"), cuda("1", "0")]);
  expect((["cpu", "webgpu", "cuda"] as const).map(isGpu)).toEqual([false, true, true]);
  const kernels: readonly Kernel[] = ["FusedMatMul", "LogSoftmax", "ConstantOfShape", "InverseDeviation", "SizeVector"];
  const of = (provider: Provider) => kernels.filter((kernel) => hasKernel(provider, kernel));
  expect([of("cpu"), of("webgpu"), of("cuda")]).toEqual([kernels, [], kernels.slice(0, -1)]);
});
