import { expect, test, vi } from "vitest";
import { host } from "../../../src/core/host.ts";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/session.ts";

vi.mock("koffi", () => {
  throw new Error("koffi has no file for this system");
});

test("where koffi cannot be loaded the processor computes as before and a warning says so once; a GPU is an error that says why", async () => {
  const warned = vi.spyOn(host, "warn").mockImplementation(() => {});
  const graph = new Graph();
  graph.output("y", graph.neg(graph.input("x", [2])));
  const sessions = await Promise.all([1, 2].map(() => Session.open(graph, { threads: 1 })));
  for (const session of sessions) {
    expect(await session.run({ x: { data: Float32Array.of(1, 2), shape: [2] } }, ["y"])).toEqual({ y: Float32Array.of(-1, -2) });
    await session.close();
  }
  expect(warned.mock.calls).toEqual([[expect.stringMatching(/^Nothing else runs while the model computes.*koffi/s)]]);
  await expect(Session.open(graph, { threads: 1, provider: "webgpu" })).rejects.toThrow(
    /^ONNX Runtime's C API is ".*; expected the packages koffi and onnxruntime-node .*npm install --ignore-scripts installs both\. device: "cpu" can do without koffi\.$/s,
  );
});
