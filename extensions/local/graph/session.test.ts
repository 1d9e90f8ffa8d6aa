import { expect, test } from "vitest";
import { defaultRuntime } from "../machine/native.ts";
import type { Runtime, RuntimeSession } from "../machine/runtime.ts";
import { Graph } from "./graph.ts";
import { Session } from "./session.ts";

/** y = softmax(-x), z = -y of rows of three. */
function threeNodes(): Graph {
  const graph = new Graph();
  const y = graph.softmax(graph.neg(graph.input("x", ["N", 3])));
  graph.output("y", y);
  graph.output("z", graph.neg(y));
  return graph;
}
const x = { data: Float32Array.of(-1, -1, -1), shape: [1, 3] };
const third = 1 / 3;

/** The processor's runtime under another provider's name. */
async function runtimeOf(changes: {
  readonly refuses?: (model: Buffer) => Error | undefined;
  readonly session?: (session: RuntimeSession) => RuntimeSession;
  readonly fillsOutputs?: boolean;
}) {
  const node = await defaultRuntime();
  const counts = { opened: 0, closed: 0 };
  const runtime: Runtime = {
    Tensor: node.Tensor,
    ...(changes.fillsOutputs === undefined ? {} : { fillsOutputs: changes.fillsOutputs }),
    InferenceSession: {
      create: async (model, options) => {
        const refused = changes.refuses?.(Buffer.from(model));
        if (refused !== undefined) throw refused;
        const session = await node.InferenceSession.create(model, { ...options, executionProviders: ["cpu"], extra: {} });
        counts.opened++;
        const release = async () => {
          counts.closed++;
          await session.release();
        };
        const own = { run: session.run.bind(session), release };
        return changes.session?.(own) ?? own;
      },
    },
  };
  return { runtime, counts };
}

test("outputs that a runtime does not fill are copied into the caller's arrays, and others are filled", async () => {
  for (const fillsOutputs of [undefined, false, true]) {
    const fetched: unknown[] = [];
    const { runtime } = await runtimeOf({
      ...(fillsOutputs === undefined ? {} : { fillsOutputs }),
      session: ({ run, release }) => ({
        run: (feeds, fetch, options) => {
          fetched.push(Array.isArray(fetch) ? fetch : { filled: Object.keys(fetch) });
          return run(feeds, fetch, options);
        },
        release,
      }),
    });
    const session = await Session.open(threeNodes(), { threads: 1, runtime });
    const y = { data: new Float32Array(3), shape: [1, 3] };
    const z = { data: new Float32Array(3), shape: [1, 3] };
    await session.runInto({ x }, { z, y });
    for (const [numbers, value] of [
      [y.data, third],
      [z.data, -third],
    ] as const)
      for (const each of numbers) expect(each).toBeCloseTo(value, 6);
    expect(fetched).toEqual([fillsOutputs === true ? { filled: ["z", "y"] } : ["z", "y"]]);
    expect((await session.run({ x }, ["y"])).y?.[0]).toBeCloseTo(third, 6);
    await session.close();
  }
});

test("a binding is of the C API alone, and an output of float32", async () => {
  const { runtime, counts } = await runtimeOf({
    session: ({ run, release }) => ({
      run: async (...values) => ({ ...(await run(...values)), y: { data: new Int32Array(3) } }),
      release,
    }),
  });
  const session = await Session.open(threeNodes(), { threads: 1, runtime });
  expect(() => session.bind({ x }, {})).toThrow(new RangeError("a binding of another runtime than the C API"));
  await expect(session.run({ x }, ["y"])).rejects.toThrow(new RangeError("an output that is not float32"));
  expect((await session.run({ x }, ["z"])).z?.[0]).toBeCloseTo(-third, 6);
  await session.forget({ x }); // nothing is kept beside the processor
  await session.close();
  expect(counts).toEqual({ opened: 1, closed: 1 });
});

test("the first operator that a provider lacks is named, and no session of the search stays open", async () => {
  const lacking = (operator: string) => (model: Buffer) =>
    model.includes(operator) ? new Error("fallback to CPU EP has been explicitly disabled by the user") : undefined;
  for (const operator of ["Softmax", "Neg"]) {
    const { runtime, counts } = await runtimeOf({ refuses: lacking(operator) });
    await expect(Session.open(threeNodes(), { threads: 1, provider: "webgpu", runtime })).rejects.toThrow(
      `operator ${operator} on webgpu is "not there"; expected one that this provider of ONNX Runtime has: on the CPU it would make every run copy its values there and back. Please report this with the model's config.json. device: "cpu" runs every graph.`,
    );
    expect(counts.closed).toBe(counts.opened);
    expect(counts.opened).toBe(operator === "Softmax" ? 1 : 0);
  }
});

test("what else goes wrong while the operator is searched for is thrown", async () => {
  let asked = 0;
  const refuses = () => new Error(asked++ === 0 ? "fallback to CPU EP has been explicitly disabled" : "another fault");
  const { runtime } = await runtimeOf({ refuses });
  await expect(Session.open(threeNodes(), { threads: 1, provider: "cuda", runtime })).rejects.toThrow("another fault");
});

test("a graph that cannot be opened is a fault to report, and one that breaks while it runs an error of the engine", async () => {
  const { runtime } = await runtimeOf({ refuses: () => new Error("ShapeInferenceError") });
  await expect(Session.open(threeNodes(), { threads: 1, runtime })).rejects.toThrow(
    'ONNX Runtime session is "ShapeInferenceError". This is a fault of the graph, not of your settings: please report it with the model\'s config.json.',
  );
  const session = await Session.open(threeNodes(), { threads: 1, runtime: (await runtimeOf({})).runtime });
  await expect(session.run({ x: { data: new Float32Array(4), shape: [1, 4] } }, ["y"])).rejects.toThrow(/^ONNX Runtime is "/);
  await session.close();
});

test("options of a session are those of its graph", async () => {
  const given: unknown[] = [];
  const node = await defaultRuntime();
  const runtime: Runtime = {
    ...node,
    InferenceSession: {
      create: (model, { extra: _, ...options }) => {
        given.push(options);
        return node.InferenceSession.create(model, options);
      },
    },
  };
  await (await Session.open(threeNodes(), { threads: 3, runtime })).close();
  await (await Session.open(threeNodes(), { threads: 1, runtime, keepMemory: false, planMemory: false })).close();
  const shared = { interOpNumThreads: 1, logSeverityLevel: 4, executionProviders: ["cpu"], externalData: [] };
  expect(given).toEqual([
    { ...shared, intraOpNumThreads: 3, enableCpuMemArena: true, enableMemPattern: true },
    { ...shared, intraOpNumThreads: 1, enableCpuMemArena: false, enableMemPattern: false },
  ]);
});
