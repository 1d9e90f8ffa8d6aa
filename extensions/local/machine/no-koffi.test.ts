import { expect, test, vi } from "vitest";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/session.ts";

vi.mock("koffi", () => {
  throw new Error("koffi has no file for this system");
});

test("where koffi cannot be loaded the processor computes as before, and a GPU is an error that says why", async () => {
  const graph = new Graph();
  graph.output("y", graph.neg(graph.input("x", [2])));
  const session = await Session.open(graph, { threads: 1 });
  expect(await session.run({ x: { data: Float32Array.of(1, 2), shape: [2] } }, ["y"])).toEqual({ y: Float32Array.of(-1, -2) });
  await session.close();
  await expect(Session.open(graph, { threads: 1, provider: "webgpu" })).rejects.toThrow(
    /^ONNX Runtime's C API is ".*; expected the packages koffi and onnxruntime-node .*device: "cpu" needs neither\.$/s,
  );
});
