import type { InferenceSession } from "onnxruntime-common";
import { expect, test } from "vitest";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/onnx.ts";
import type { Provider } from "./device.ts";
import { nodeRuntime, type Runtime } from "./runtime.ts";

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
