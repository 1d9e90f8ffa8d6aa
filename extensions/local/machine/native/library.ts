import { join } from "node:path";
import type { LibraryHandle } from "koffi";
import { EngineError, reasonOf } from "../../../../src/core/errors.ts";
import { installedCuda, runtimeFile } from "../cuda/installed.ts";
import { type GiveBack, heapOf } from "./heap.ts";
import { packagedRuntime } from "./packaged.ts";

/** An address in the library's memory. */
export type Pointer = bigint;

/** Paths are of wide characters on Windows. */
const pathUnit = process.platform === "win32" ? "char16_t" : "char";

/**
 * The functions of ONNX Runtime's C API that the engine calls: place in `OrtApi`, a table that only ever grows (onnxruntime_c_api.h), and signature.
 */
export const functions = {
  GetErrorMessage: [2, "const char *(void *status)"],
  CreateEnv: [3, "void *(int level, const char *id, _Out_ void **env)"],
  CreateSessionFromArray: [8, "void *(void *env, const void *model, size_t bytes, void *options, _Out_ void **session)"],
  CreateSessionOptions: [10, "void *(_Out_ void **options)"],
  DisableMemPattern: [17, "void *(void *options)"],
  DisableCpuMemArena: [19, "void *(void *options)"],
  SetSessionLogSeverityLevel: [22, "void *(void *options, int level)"],
  SetIntraOpNumThreads: [24, "void *(void *options, int threads)"],
  SetInterOpNumThreads: [25, "void *(void *options, int threads)"],
  CreateTensorAsOrtValue: [48, "void *(void *allocator, const int64_t *shape, size_t axes, int type, _Out_ void **value)"],
  CreateTensorWithDataAsOrtValue: [
    49,
    "void *(void *memory, void *data, size_t bytes, const int64_t *shape, size_t axes, int type, _Out_ void **value)",
  ],
  GetTensorMutableData: [51, "void *(void *value, _Out_ void **data)"],
  GetDimensionsCount: [61, "void *(void *info, _Out_ size_t *axes)"],
  GetDimensions: [62, "void *(void *info, _Out_ int64_t *shape, size_t axes)"],
  GetTensorElementType: [60, "void *(void *info, _Out_ int *type)"],
  GetTensorTypeAndShape: [65, "void *(void *value, _Out_ void **info)"],
  CreateMemoryInfo: [68, "void *(const char *name, int allocator, int id, int kind, _Out_ void **memory)"],
  AllocatorFree: [76, "void *(void *allocator, void *data)"],
  GetAllocatorWithDefaultOptions: [78, "void *(_Out_ void **allocator)"],
  ReleaseStatus: [93, "void (void *status)"],
  ReleaseSession: [95, "void (void *session)"],
  ReleaseValue: [96, "void (void *value)"],
  ReleaseRunOptions: [97, "void (void *options)"],
  ReleaseTensorTypeAndShapeInfo: [99, "void (void *info)"],
  ReleaseSessionOptions: [100, "void (void *options)"],
  AddSessionConfigEntry: [130, "void *(void *options, const char *key, const char *value)"],
  CreateAllocator: [131, "void *(void *session, void *memory, _Out_ void **allocator)"],
  ReleaseAllocator: [132, "void (void *allocator)"],
  RunWithBinding: [133, "void *(void *session, void *options, void *binding)"],
  CreateIoBinding: [134, "void *(void *session, _Out_ void **binding)"],
  ReleaseIoBinding: [135, "void (void *binding)"],
  BindInput: [136, "void *(void *binding, const char *name, void *value)"],
  BindOutput: [137, "void *(void *binding, const char *name, void *value)"],
  BindOutputToDevice: [138, "void *(void *binding, const char *name, void *memory)"],
  GetBoundOutputValues: [140, "void *(void *binding, void *allocator, _Out_ void **values, _Out_ size_t *count)"],
  CreateRunOptions: [39, "void *(_Out_ void **options)"],
  AddRunConfigEntry: [165, "void *(void *options, const char *key, const char *value)"],
  SynchronizeBoundOutputs: [203, "void *(void *binding)"],
  AppendCuda: [204, "void *(void *options, void *cuda)"],
  CreateCUDAProviderOptions: [205, "void *(_Out_ void **cuda)"],
  UpdateCUDAProviderOptions: [206, "void *(void *cuda, const char **keys, const char **values, size_t count)"],
  ReleaseCUDAProviderOptions: [208, "void (void *cuda)"],
  AppendProvider: [216, "void *(void *options, const char *name, const char **keys, const char **values, size_t count)"],
  AddExternalInitializersFromFilesInMemory: [
    279,
    `void *(void *options, const ${pathUnit} **names, void **data, const size_t *bytes, size_t count)`,
  ],
} as const satisfies Record<string, readonly [number, string]>;

type Name = keyof typeof functions;

/** A function of the library; `async` calls it in another thread. */
interface Callable {
  (...values: readonly unknown[]): unknown;
  async(...values: readonly unknown[]): void;
}

/** The version of the API that all of these functions are in: ONNX Runtime 1.18. */
const apiVersion = 18;
/** Places of the table that are read. */
const places = 1 + Math.max(...Object.values(functions).map(([place]) => place));

/** ONNX Runtime's C API (onnxruntime_c_api.h), as the shared library of `onnxruntime-node` has it. */
export interface Library {
  readonly version: string;
  /** Calls a function that returns a status, or nothing. @throws Error with the library's message */
  call(name: Name, ...values: readonly unknown[]): void;
  /** As `call`, in a thread of its own, so that the event loop does not wait. */
  callAside(name: Name, ...values: readonly unknown[]): Promise<void>;
  /** Calls a function whose last argument is what it makes. */
  make(name: Name, ...values: readonly unknown[]): Pointer;
  makeAside(name: Name, ...values: readonly unknown[]): Promise<Pointer>;
  /** To be called where much was freed. */
  readonly giveBack: GiveBack;
  /** @returns the typed numbers at an address, without a copy */
  view(at: Pointer, bytes: number): ArrayBuffer;
  /** @returns addresses in an array of them */
  pointers(at: Pointer, count: number): Pointer[];
}

/** Kernels put blocks of matrices on the stack: koffi's own 128 KiB are too few. */
const stackBytes = 8 * 2 ** 20;

/** Kept: koffi closes a library whose handle nobody holds, and its functions are gone then. */
let handle: LibraryHandle | undefined;
let opened: Promise<Library> | undefined;

/** @throws EngineError if there is no such library here, or no way to call it */
export function openLibrary(): Promise<Library> {
  opened ??= load();
  return opened;
}

async function load(): Promise<Library> {
  try {
    const { default: koffi } = await import("koffi");
    koffi.config({ sync_stack_size: stackBytes, async_stack_size: stackBytes });
    handle = koffi.load(libraryPath());
    const base = handle.func("void *OrtGetApiBase()")();
    const [getApi, getVersion] = koffi.decode(base, koffi.array("void *", 2));
    const api = koffi.call(getApi, koffi.proto("void *(uint32_t version)"), apiVersion);
    const version: string = koffi.call(getVersion, koffi.proto("const char *()"));
    if (!api) throw new EngineError("ONNX Runtime", version, { expected: "1.18 or newer" });
    const table: Pointer[] = koffi.decode(api, koffi.array("void *", places));
    const prepared = new Map<Name, Callable>();
    const find = (name: Name): Callable => {
      const known = prepared.get(name);
      if (known !== undefined) return known;
      const [place, signature] = functions[name];
      const made: Callable = koffi.decode(table[place], koffi.proto(signature));
      prepared.set(name, made);
      return made;
    };
    const check = (status: unknown): void => {
      if (!status) return;
      const message = find("GetErrorMessage")(status);
      find("ReleaseStatus")(status);
      throw new Error(String(message));
    };
    /** Arguments of calls that have not ended: koffi keeps addresses, and not what lies there. */
    const passed = new Set<readonly unknown[]>();
    const aside = (name: Name, values: readonly unknown[]): Promise<void> =>
      new Promise((resolve, reject) => {
        passed.add(values);
        find(name).async(...values, (error: unknown, status: unknown) => {
          passed.delete(values);
          try {
            if (error) throw error;
            check(status);
            resolve();
          } catch (cause) {
            reject(cause);
          }
        });
      });
    return {
      version,
      call: (name, ...values) => check(find(name)(...values)),
      callAside: (name, ...values) => aside(name, values),
      make: (name, ...values) => {
        const made: [Pointer] = [0n];
        check(find(name)(...values, made));
        return made[0];
      },
      makeAside: async (name, ...values) => {
        const made: [Pointer] = [0n];
        await aside(name, [...values, made]);
        return made[0];
      },
      giveBack: heapOf(koffi),
      view: (at, bytes) => koffi.view(at, bytes),
      pointers: (at, count) => koffi.decode(at, koffi.array("void *", count)),
    };
  } catch (cause) {
    throw new EngineError("ONNX Runtime's C API", reasonOf(cause).split("\n")[0], {
      expected: "the packages koffi and onnxruntime-node for this system",
      hint: 'npm install --ignore-scripts installs both. device: "cpu" can do without koffi.',
      cause,
    });
  }
}

/** The library of `onnxruntime-node`, or its copy beside CUDA's provider: ONNX Runtime looks for providers in its own folder. */
export function libraryPath(): string {
  const packaged = packagedRuntime();
  const cuda = installedCuda(packaged);
  return cuda === undefined ? packaged.file : join(cuda, runtimeFile);
}
