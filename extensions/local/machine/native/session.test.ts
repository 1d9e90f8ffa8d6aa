import { expect, test } from "vitest";
import type { Library, Pointer } from "./library.ts";
import { Native, type SessionOptions } from "./session.ts";
import { DeviceTensor, HostTensor } from "./tensor.ts";

/** A library that computes nothing: what it makes are numbers from 1n on, and every call is noted. */
function fakeNative(fails: (name: string) => unknown = () => undefined) {
  const calls: unknown[][] = [];
  let made = 0n;
  const note = (name: string, values: readonly unknown[]) => {
    // As they are now, and shapes and sizes as plain numbers.
    const now = (value: unknown): unknown => {
      if (value instanceof BigInt64Array || value instanceof BigUint64Array) return Array.from(value, Number);
      return Array.isArray(value) || (value instanceof Uint8Array && name !== "CreateTensorWithDataAsOrtValue")
        ? Array.from(value as Iterable<unknown>)
        : value;
    };
    calls.push([name, ...values.map(now)]);
    const fault = fails(name);
    if (fault !== undefined) throw fault;
  };
  const make = (name: string, values: readonly unknown[]): Pointer => {
    note(name, values);
    return ++made;
  };
  const numbers = Float32Array.of(1, 2, 3);
  const library: Library = {
    version: "1.30.0",
    call: (name, ...values) => {
      note(name, values);
      // Outputs of [3] numbers of float32.
      const [into] = values.slice(name === "GetBoundOutputValues" ? 2 : 1) as [never[]];
      if (name === "GetBoundOutputValues") (values[3] as number[])[0] = 1;
      if (name === "GetDimensionsCount" || name === "GetTensorElementType") into[0] = 1 as never;
      if (name === "GetDimensions") (values[1] as BigInt64Array)[0] = 3n;
    },
    callAside: async (name, ...values) => note(`${name} aside`, values),
    make: (name, ...values) => make(name, values),
    makeAside: async (name, ...values) => make(`${name} aside`, values),
    giveBack: async () => void calls.push(["give back"]),
    view: (_, bytes) => numbers.buffer.slice(0, bytes),
    pointers: (_, count) => Array.from({ length: count }, (_, i) => 100n + BigInt(i)),
  };
  const thread = {
    run: async (...values: readonly unknown[]) => note("thread", values),
  };
  const cuda = async () => note("load CUDA", []);
  const native = new Native(library, thread, 77n, cuda);
  const since = () => calls.splice(0);
  since();
  return { native, since };
}
const model = new Uint8Array(5);
const extra = { session: { intra_op: { allow_spinning: "0" }, disable_cpu_ep_fallback: "1" }, ep: { x: 2 } };

async function opened(options: SessionOptions, fails?: (name: string) => unknown) {
  const { native, since } = fakeNative(fails);
  const session = await native.InferenceSession.create(model, options);
  return { native, session, since };
}

test("a session on WebGPU is made with its settings, in another thread, and its options are released", async () => {
  const { session, since } = await opened({
    ...{ executionProviders: [{ name: "webgpu", enableGraphCapture: true } as never], intraOpNumThreads: 3, extra },
    ...{ enableCpuMemArena: false, enableMemPattern: false, externalData: [{ path: "large", data: model }, "by its name"] },
  });
  expect(session.provider).toBe("webgpu");
  expect(since()).toEqual([
    ["CreateSessionOptions"],
    ["SetIntraOpNumThreads", 3n, 3],
    ["SetInterOpNumThreads", 3n, 1],
    ["SetSessionLogSeverityLevel", 3n, 4],
    ["DisableCpuMemArena", 3n],
    ["DisableMemPattern", 3n],
    ["AddSessionConfigEntry", 3n, "session.intra_op.allow_spinning", "0"],
    ["AddSessionConfigEntry", 3n, "session.disable_cpu_ep_fallback", "1"],
    ["AddSessionConfigEntry", 3n, "ep.x", "2"],
    ["AppendProvider", 3n, "WebGPU", ["enableGraphCapture"], ["true"], 1],
    ["AddExternalInitializersFromFilesInMemory", 3n, ["large"], [model], [5], 1],
    ["CreateSessionFromArray aside", 77n, [0, 0, 0, 0, 0], 5, 3n],
    ["give back"],
    ["ReleaseSessionOptions", 3n],
  ]);
});

test("CUDA's libraries are loaded first, and its options released whether they are taken or not", async () => {
  const cuda = { executionProviders: [{ name: "cuda", use_tf32: "0" } as never] };
  const provider = [
    ["CreateCUDAProviderOptions"],
    ["UpdateCUDAProviderOptions", 4n, ["use_tf32"], ["0"], 1],
    ["AppendCuda", 3n, 4n],
    ["ReleaseCUDAProviderOptions", 4n],
  ];
  const before = [
    ["load CUDA"],
    ["CreateSessionOptions"],
    ["SetIntraOpNumThreads", 3n, 0],
    ["SetInterOpNumThreads", 3n, 1],
    ["SetSessionLogSeverityLevel", 3n, 4],
  ];
  const { since } = await opened(cuda);
  const made = [["CreateSessionFromArray aside", 77n, [0, 0, 0, 0, 0], 5, 3n], ["give back"]];
  expect(since()).toEqual([...before, ...provider, ...made, ["ReleaseSessionOptions", 3n]]);
  const broken = fakeNative((name) => (name === "AppendCuda" ? new Error("no such provider") : undefined));
  await expect(broken.native.InferenceSession.create(model, cuda)).rejects.toThrow("no such provider");
  expect(broken.since()).toEqual([...before, ...provider, ["ReleaseSessionOptions", 3n]]);
});

test("external data is bytes", async () => {
  const { native } = fakeNative();
  const externalData = [{ path: "large", data: "a file's name" }] as never;
  await expect(native.InferenceSession.create(model, { externalData })).rejects.toThrow("external data that is no bytes");
});

test("a run on a device is made by its thread, and counts what crosses", async () => {
  const { native, session, since } = await opened({ executionProviders: ["webgpu"] });
  since();
  const x = new HostTensor("float32", new Float32Array(4), [2, 2]);
  const z = new HostTensor("int32", new Int32Array(3), [3]);
  const { y, z: filled } = await session.run({ x }, { y: null, z });
  expect([y?.data, filled]).toEqual([Float32Array.of(1, 2, 3), z]);
  expect(native.device.crossed).toEqual({ up: 16, down: 12 + 12 });
  expect(since()).toEqual([
    ["CreateIoBinding", 4n],
    ["CreateTensorWithDataAsOrtValue", 1n, x.data, 16, [2, 2], 2, 1],
    ["BindInput", 5n, "x", 6n],
    ["BindOutputToDevice", 5n, "y", 1n],
    ["CreateTensorWithDataAsOrtValue", 1n, z.data, 12, [3], 1, 6],
    ["BindOutput", 5n, "z", 7n],
    ["thread", 4n, 0n, 5n],
    ["GetBoundOutputValues", 5n, 2n, [0n], [0]],
    ["AllocatorFree", 2n, 0n],
    ["GetTensorTypeAndShape", 100n],
    ["GetDimensionsCount", 8n, [0]],
    ["GetDimensions", 8n, [0], 1],
    ["GetTensorElementType", 8n, [0]],
    ["GetTensorMutableData", 100n],
    ["ReleaseTensorTypeAndShapeInfo", 8n],
    ["ReleaseValue", 100n],
    ["ReleaseIoBinding", 5n],
    ["ReleaseValue", 6n],
    ["ReleaseValue", 7n],
  ]);
});

test("a recorded run is made in this thread, of tensors that stay on the device", async () => {
  const { native, session, since } = await opened({ executionProviders: ["webgpu"] });
  since();
  const kept = session.allocate("float32", [2, 3]);
  const more = session.allocate("int8", [4]);
  expect([kept.bytes, more.bytes]).toEqual([24, 4]);
  expect(since()).toEqual([
    ["CreateMemoryInfo", "WebGPU_Buf", 0, 0, 0],
    ["CreateAllocator", 4n, 5n],
    ["CreateTensorAsOrtValue", 6n, [2, 3], 2, 1],
    ["CreateTensorAsOrtValue", 6n, [4], 1, 3],
  ]);
  const into = new HostTensor("float32", new Float32Array(6), [2, 3]);
  const binding = session.bind({ kept }, { into }, 9);
  binding.runHere();
  binding.release();
  binding.input("again", into);
  expect(native.device.crossed).toEqual({ up: 24, down: 24 });
  expect(since()).toEqual([
    ["CreateRunOptions"],
    ["AddRunConfigEntry", 9n, "gpu_graph_id", "9"],
    ["CreateIoBinding", 4n],
    ["BindInput", 10n, "kept", 7n],
    ["CreateTensorWithDataAsOrtValue", 1n, into.data, 24, [2, 3], 2, 1],
    ["BindOutput", 10n, "into", 11n],
    ["RunWithBinding", 4n, 9n, 10n],
    ["SynchronizeBoundOutputs", 10n],
    ["ReleaseIoBinding", 10n],
    ["ReleaseValue", 11n],
    ["ReleaseRunOptions", 9n],
    ["CreateTensorWithDataAsOrtValue", 1n, into.data, 24, [2, 3], 2, 1],
    ["BindInput", 10n, "again", 12n],
  ]);
  kept.dispose();
  kept.dispose();
  await session.release();
  expect(since()).toEqual([["ReleaseValue", 7n], ["ReleaseAllocator", 6n], ["ReleaseSession", 4n], ["give back"]]);
});

test("on the processor a run is made aside or here, nothing crosses, and a session is released aside", async () => {
  const { native, session, since } = await opened({});
  since();
  const x = new HostTensor("float32", new Float32Array(3), [3]);
  await session.run({ x }, ["y"]);
  await session.run({ x }, ["y"], { short: true });
  const runs = since().filter(([name]) => /Run|thread|Synchronize/.test(String(name)));
  expect(runs).toEqual([
    ["RunWithBinding aside", 4n, null, 5n],
    ["RunWithBinding", 4n, null, 9n],
  ]);
  expect(native.device.crossed).toEqual({ up: 0, down: 0 });
  await session.release();
  expect(since()).toEqual([["ReleaseSession aside", 4n], ["give back"]]);
});

test("an input that is bound once more takes the place of the one before, whose value is released", async () => {
  let fault: Error | undefined;
  const { session, since } = await opened({}, (name) => (name === "BindInput" ? fault : undefined));
  since();
  const [first, second] = [1, 2].map((size) => new HostTensor("float32", new Float32Array(size), [size]));
  const binding = session.bind({ x: first as HostTensor }, {});
  binding.input("x", second as HostTensor);
  fault = new Error("another shape");
  expect(() => binding.input("x", first as HostTensor)).toThrow("another shape");
  expect(since().filter(([name]) => name !== "CreateTensorWithDataAsOrtValue")).toEqual([
    ["CreateIoBinding", 4n],
    ["BindInput", 5n, "x", 6n],
    ["BindInput", 5n, "x", 7n],
    ["ReleaseValue", 6n],
    ["BindInput", 5n, "x", 8n],
    ["ReleaseValue", 7n],
  ]);
  binding.release();
  expect(since()).toEqual([
    ["ReleaseIoBinding", 5n],
    ["ReleaseValue", 8n],
  ]);
});

test("an empty tensor has an address, and one of another runtime is refused", async () => {
  const { session, since } = await opened({});
  since();
  session.bind({ empty: new HostTensor("float32", new Float32Array(0), [0, 3]) }, {}).release();
  expect(since()[1]).toEqual(["CreateTensorWithDataAsOrtValue", 1n, Float64Array.of(0), 0, [0, 3], 2, 1]);
  expect(() => session.bind({ x: { data: new Float32Array(1) } }, {})).toThrow("a tensor of another runtime");
  expect(since().at(-1)).toEqual(["ReleaseIoBinding", 7n]);
});

test("faults of a device are named where they are met: in its memory, in its thread and here", async () => {
  let broken: string | undefined;
  const lost = new Error("Device was lost");
  const fails = (name: string) => (name === broken ? lost : undefined);
  const { session } = await opened({ executionProviders: ["webgpu"] }, fails);
  const x = new HostTensor("float32", new Float32Array(3), [3]);
  broken = "CreateTensorAsOrtValue";
  expect(() => session.allocate("float32", [3])).toThrow(/^the GPU is "lost/);
  broken = "thread";
  await expect(session.run({ x }, ["y"])).rejects.toThrow(/^the GPU is "lost/);
  broken = "SynchronizeBoundOutputs";
  await expect(session.run({ x }, ["y"], { short: true })).rejects.toThrow(/^the GPU is "lost/);
  // The same words of the processor are no device's.
  const here = await opened({}, fails);
  broken = "RunWithBinding";
  await expect(here.session.run({ x }, ["y"], { short: true })).rejects.toThrow(lost);
  broken = "CreateTensorAsOrtValue";
  expect(() => here.session.allocate("float32", [3])).toThrow(lost);
});

test("a device's tensor is seen in other shapes of no more numbers, and read by a download alone", async () => {
  const { session, since } = await opened({ executionProviders: ["webgpu"] });
  const tensor = session.allocate("float32", [2, 3]);
  since();
  const view = tensor.view([3, 1]);
  expect([view.dims, view.type, view.bytes]).toEqual([[3, 1], "float32", 12]);
  expect(since()).toEqual([
    ["GetTensorMutableData", 7n],
    ["CreateTensorWithDataAsOrtValue", 5n, 8n, 12, [3, 1], 2, 1],
  ]);
  expect(tensor.view([6])).toBeInstanceOf(DeviceTensor);
  expect(() => tensor.view([7])).toThrow("a view of 7 numbers of 6");
  expect(() => tensor.data).toThrow("numbers of a device tensor, which are to be downloaded first");
});

test("memories of providers are made once each", () => {
  const { native, since } = fakeNative();
  const memories = ["cuda", "webgpu", "cpu", "cuda"].map((provider) => native.memoryOf(provider));
  expect(memories).toEqual([3n, 4n, 5n, 3n]);
  expect(since()).toEqual(["Cuda", "WebGPU_Buf", "Cpu"].map((name) => ["CreateMemoryInfo", name, 0, 0, 0]));
});
