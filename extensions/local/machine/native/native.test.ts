import { expect, test, vi } from "vitest";
import { Graph } from "../../graph/graph.ts";
import { serialise } from "../../graph/onnx.ts";
import { nativeRuntime } from "../native.ts";
import { nodeBinding } from "../runtime.ts";
import { HostTensor } from "./tensor.ts";

const options = { intraOpNumThreads: 1, executionProviders: ["cpu"] };

function softmaxOfProduct(size: number): Promise<Uint8Array> {
  const graph = new Graph();
  const x = graph.input("x", ["N", size]);
  const w = graph.constant(
    Float32Array.from({ length: size * size }, (_, i) => Math.sin(i)),
    [size, size],
  );
  graph.output("y", graph.softmax(graph.matmul(x, w)));
  graph.output("z", graph.neg(x));
  return serialise(graph);
}

test("outputs are those of ONNX Runtime's binding for Node, to the bit, fetched by name or written into a tensor", async () => {
  const [native, node] = [await nativeRuntime(), await nodeBinding()];
  const model = await softmaxOfProduct(40);
  const data = Float32Array.from({ length: 120 }, (_, i) => Math.cos(i));
  const byNode = await node.InferenceSession.create(model, options);
  const expected = await byNode.run({ x: new node.Tensor("float32", data, [3, 40]) }, ["y", "z"]);
  const session = await native.InferenceSession.create(model, options);
  const x = new HostTensor("float32", data, [3, 40]);
  for (const short of [true, false]) {
    const fetched = await session.run({ x }, ["z", "y"], { short });
    expect(fetched.y.data).toEqual(expected.y.data);
    expect(fetched.z.data).toEqual(expected.z.data);
    const y = new HostTensor("float32", new Float32Array(120), [3, 40]);
    await session.run({ x }, { y }, { short });
    expect(y.data).toEqual(expected.y.data);
  }
  await session.release();
  await byNode.release();
});

test("the event loop turns while a run is made", async () => {
  const native = await nativeRuntime();
  const session = await native.InferenceSession.create(await softmaxOfProduct(127), options);
  const x = new HostTensor("float32", new Float32Array(127 * 2 ** 16).fill(1), [2 ** 16, 127]);
  let turns = 0;
  const running = session.run({ x }, ["y"]);
  let ended = false;
  running.then(() => {
    ended = true;
  });
  while (!ended) {
    turns++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(turns).toBeGreaterThan(10);
  await session.release();
});

test("an error of the library is thrown with its message, and leaves the session whole", async () => {
  const native = await nativeRuntime();
  const session = await native.InferenceSession.create(await softmaxOfProduct(4), options);
  const x = new HostTensor("float32", new Float32Array(4), [1, 4]);
  await expect(session.run({ w: x }, ["y"])).rejects.toThrow("w");
  await expect(session.run({ x: new HostTensor("float32", new Float32Array(3), [1, 3]) }, ["y"])).rejects.toThrow(
    /dimension|shape/i,
  );
  expect((await session.run({ x }, ["z"])).z.data).toEqual(new Float32Array(4).fill(-0));
  await session.release();
});

test("a tensor of a session's memory keeps what a run has written, until it is disposed of", async () => {
  const native = await nativeRuntime();
  const session = await native.InferenceSession.create(await softmaxOfProduct(4), options);
  const kept = session.allocate("float32", [1, 4]);
  await session.run({ x: new HostTensor("float32", Float32Array.of(1, 2, 3, 4), [1, 4]) }, { z: kept });
  const twice = await session.run({ x: kept }, ["z"]);
  expect(twice.z.data).toEqual(Float32Array.of(1, 2, 3, 4));
  kept.dispose();
  await expect(session.run({ x: kept }, ["z"])).rejects.toThrow("disposed of");
  await session.release();
});

test("a run whose tensors cannot be bound leaves nothing behind", async () => {
  const native = await nativeRuntime();
  const session = await native.InferenceSession.create(await softmaxOfProduct(4), options);
  const made = new Map<string, number>();
  const count = (name: string, by: number) => made.set(name, (made.get(name) ?? 0) + by);
  const names = {
    CreateIoBinding: "binding",
    ReleaseIoBinding: "binding",
    CreateTensorWithDataAsOrtValue: "value",
    ReleaseValue: "value",
  };
  const isCounted = (name: string): name is keyof typeof names => name in names;
  const { call, make } = native.library;
  const called = vi.spyOn(native.library, "call").mockImplementation((name, ...values) => {
    if (isCounted(name)) count(names[name], -1);
    call(name, ...values);
  });
  const making = vi.spyOn(native.library, "make").mockImplementation((name, ...values) => {
    if (isCounted(name)) count(names[name], 1);
    return make(name, ...values);
  });
  const x = new HostTensor("float32", new Float32Array(4), [1, 4]);
  await expect(session.run({ x, w: x }, ["y"])).rejects.toThrow("w");
  expect(() => session.bind({ x, w: x }, {})).toThrow("w");
  expect(Object.fromEntries(made)).toEqual({ binding: 0, value: 0 });
  called.mockRestore();
  making.mockRestore();
  await session.release();
});
