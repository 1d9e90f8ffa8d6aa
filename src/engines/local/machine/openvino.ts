import { EngineError, reasonOf } from "../../../core/errors.ts";
import { host } from "../../../core/host.ts";
import { type Library, loadLibrary, type Pointer } from "./openvino-library.ts";
import type { Runtime } from "./runtime.ts";

type Data = Float32Array | Int8Array | Uint8Array | Int32Array | BigInt64Array;

/** Values of `ov_element_type_e` in OpenVINO 2026.4. */
const elementTypes: Readonly<Record<string, number>> = { float32: 4, int8: 7, int32: 9, int64: 10, uint8: 16 };

/** OpenVINO, ready to compute. */
export interface Openvino {
  readonly runtime: Runtime;
  /** The precision of products. Weights, inputs and outputs are float32. */
  readonly precision: "bf16" | "f32";
}

let opened: Promise<Openvino> | undefined;

/**
 * OpenVINO behind the interface of ONNX Runtime's sessions, on the processor. Products are made in bfloat16 where the processor has units for it, and in
 * float32 where it has none.
 * @throws EngineError with the commands that install it
 */
export function openvino(): Promise<Openvino> {
  opened ??= loadLibrary().then(openvinoOf);
  return opened;
}

/** Runs graphs in OpenVINO's C library. @param asked float32 also where there are units for bfloat16; for comparisons */
export function openvinoOf(library: Library, asked: Openvino["precision"] = "bf16"): Openvino {
  const core = library.out("ov_core_create");
  const precision =
    asked === "bf16" && hasBfloat16(library.text("ov_core_get_property", core, "CPU", "OPTIMIZATION_CAPABILITIES"))
      ? "bf16"
      : "f32";
  return { precision, runtime: runtimeOf(library, core, precision) };
}

/** @param capabilities OpenVINO's list for the processor, such as "FP32 BF16 INT8" */
export function hasBfloat16(capabilities: string): boolean {
  return capabilities.split(" ").includes("BF16");
}

function runtimeOf(library: Library, core: Pointer, precision: Openvino["precision"]): Runtime {
  /** One request with memory of its own: runs take their turn, as those of ONNX Runtime's binding do. */
  class Session {
    readonly #model: Pointer;
    readonly #request: Pointer;
    readonly #ports = new Map<string, Pointer>();

    constructor(model: Pointer) {
      this.#model = model;
      this.#request = library.out("ov_compiled_model_create_infer_request", model);
    }

    /**
     * Inputs are read where they are. Outputs are copied, once: OpenVINO would go on writing into memory that it was given.
     * The process stands still while it computes, so before each run whatever waits has its turn: signals, timers, a page that is asked for.
     */
    async run(
      feeds: Readonly<Record<string, Feed>>,
      fetch: readonly string[] | Readonly<Record<string, Feed>>,
    ): Promise<Record<string, { data: Data }>> {
      await host.nextTurn();
      for (const [name, { type, data, dims }] of Object.entries(feeds)) {
        const tensor = library.tensor(elementTypes[type], dims, data);
        library.call("ov_infer_request_set_tensor_by_const_port", this.#request, this.#port("input", name), tensor);
        library.free("ov_tensor_free", tensor);
      }
      library.call("ov_infer_request_infer", this.#request);
      if (isNames(fetch)) return Object.fromEntries(fetch.map((name) => [name, { data: this.#output(name).slice() }]));
      for (const [name, { data }] of Object.entries(fetch)) (data as Float32Array).set(this.#output(name));
      return { ...fetch };
    }

    /** An output where OpenVINO holds it, until the next run. All outputs of graphs are float32. */
    #output(name: string): Float32Array {
      const tensor = library.out("ov_infer_request_get_tensor_by_const_port", this.#request, this.#port("output", name));
      try {
        return library.numbers(tensor);
      } finally {
        library.free("ov_tensor_free", tensor);
      }
    }

    #port(side: "input" | "output", name: string): Pointer {
      const port = this.#ports.get(name) ?? library.out(`ov_compiled_model_${side}_by_name`, this.#model, name);
      this.#ports.set(name, port);
      return port;
    }

    async release(): Promise<void> {
      for (const port of this.#ports.values()) library.free("ov_output_const_port_free", port);
      library.free("ov_infer_request_free", this.#request);
      library.free("ov_compiled_model_free", this.#model);
    }
  }
  const InferenceSession = {
    create: async (bytes: Uint8Array, { intraOpNumThreads = 1 }: { intraOpNumThreads?: number } = {}): Promise<Session> => {
      const model = library.out("ov_core_read_model_from_memory_buffer", core, bytes, bytes.length, null);
      try {
        return new Session(
          library.compile(core, model, { INFERENCE_NUM_THREADS: `${intraOpNumThreads}`, INFERENCE_PRECISION_HINT: precision }),
        );
      } finally {
        library.free("ov_model_free", model);
      }
    },
  };
  return { InferenceSession, Tensor: Feed, fillsOutputs: true };
}

function isNames(fetch: readonly string[] | object): fetch is readonly string[] {
  return Array.isArray(fetch);
}

/** ONNX Runtime's tensor, as far as feeds need it. */
class Feed {
  readonly type: string;
  readonly data: Data;
  readonly dims: readonly number[];
  constructor(type: string, data: Data, dims: readonly number[]) {
    this.type = type;
    this.data = data;
    this.dims = dims;
  }
}

/** Why a graph was not taken, where the version is the cause. */
export function outdatedOpenvino(cause: unknown): EngineError | undefined {
  const operators = /does not support the following ONNX operations: (.*)/.exec(reasonOf(cause))?.[1];
  if (operators === undefined) return undefined;
  return new EngineError("OpenVINO's operators", operators, {
    expected: "OpenVINO 2026.4 or later, which has them",
    hint: "Run `pip install --upgrade --target openvino openvino==2026.4.1`.",
    cause,
  });
}
