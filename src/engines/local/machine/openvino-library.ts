import { z } from "zod";
import { EngineError, reasonOf } from "../../../core/errors.ts";

/** An object of the C library. */
export type Pointer = object | bigint;
type Argument = Pointer | string | number | ArrayBufferView | null;

/** OpenVINO's C library (`openvino/c/*.h`), as far as it is used. Functions that fail throw its message. */
export interface Library {
  /** Calls a function that returns nothing but whether it worked. */
  call(name: Procedure, ...args: readonly Argument[]): void;
  /** Calls a function whose last argument is where an object is written. */
  out(name: Maker, ...args: readonly Argument[]): Pointer;
  /** Calls a function whose last argument is where a text is written. */
  text(name: "ov_core_get_property", ...args: readonly Argument[]): string;
  free(name: Freer, object: Pointer): void;
  /** @param data is read, and not copied, while the tensor is in use */
  tensor(elementType: number, dims: readonly number[], data: ArrayBufferView & { readonly length: number }): Pointer;
  /** The numbers of a float32 tensor, where they are. */
  numbers(tensor: Pointer): Float32Array;
  compile(core: Pointer, model: Pointer, config: Readonly<Record<string, string>>): Pointer;
}

const makers = {
  ov_core_create: "",
  ov_core_read_model_from_memory_buffer: "void *core, void *bytes, size_t length, void *weights, ",
  ov_compiled_model_create_infer_request: "void *model, ",
  ov_compiled_model_input_by_name: "void *model, const char *name, ",
  ov_compiled_model_output_by_name: "void *model, const char *name, ",
  ov_infer_request_get_tensor_by_const_port: "void *request, void *port, ",
} as const;
const procedures = {
  ov_infer_request_set_tensor_by_const_port: "void *request, void *port, void *tensor",
  ov_infer_request_infer: "void *request",
} as const;
const freers = [
  ...(["ov_model_free", "ov_tensor_free", "ov_compiled_model_free"] as const),
  ...(["ov_infer_request_free", "ov_output_const_port_free"] as const),
] as const;
type Maker = keyof typeof makers;
type Procedure = keyof typeof procedures;
type Freer = (typeof freers)[number];

interface Declare {
  (declaration: string): (...args: unknown[]) => unknown;
  (name: string, result: string, parameters: readonly unknown[]): (...args: unknown[]) => unknown;
}
/** The part of koffi 3, which calls C functions by their declaration, that is used. */
interface Koffi {
  load(path: string): { readonly func: Declare };
  struct(members: Readonly<Record<string, string>>): unknown;
  out(type: string): unknown;
  view(pointer: Pointer, bytes: number): ArrayBuffer;
}
const koffiSchema = z.custom<Koffi>((value) => typeof value === "object" && value !== null && "load" in value, "koffi");

/** The environment's name for the folder that both are installed in. */
const variable = "RETROGRADE_OPENVINO";
const libraryName = /^(lib)?openvino_c(\.\d+)?\.(so|dylib|dll)[.\d]*$/;

/**
 * Loads OpenVINO's C library, which is inside its package for Python, through koffi. Neither is a dependency: together they have 190 MB.
 * @param folder that both are installed in. Default: the one that the environment names
 * @throws EngineError with the commands that install both
 */
export async function loadLibrary(folder = process.env[variable]): Promise<Library> {
  try {
    if (folder === undefined) throw new Error(`${variable} is not set`);
    const [{ createRequire }, { readdir }, { resolve }] = [
      await import("node:module"),
      await import("node:fs/promises"),
      await import("node:path"),
    ];
    const libraries = resolve(folder, "openvino/libs");
    const name = (await readdir(libraries)).find((each) => libraryName.test(each));
    if (name === undefined) throw new Error(`no C library of OpenVINO in ${libraries}`);
    return bind(koffiSchema.parse(createRequire(resolve(folder, "koffi.js"))("koffi")), resolve(libraries, name));
  } catch (cause) {
    throw new EngineError("OpenVINO", folder, {
      expected: `in ${variable} a folder with the packages koffi and openvino (${reasonOf(cause)})`,
      hint:
        `Run \`npm install --prefix openvino koffi@3.3.4\`, \`pip install --no-deps --target openvino openvino==2026.4.1\` and ` +
        `\`export ${variable}="$PWD/openvino"\`. device: "cpu" needs nothing.`,
      cause,
    });
  }
}

function bind(koffi: Koffi, path: string): Library {
  const library = koffi.load(path);
  const made = (name: string, args: string) => library.func(`int ${name}(${args}_Out_ void **made)`);
  const functions = new Map([
    ...Object.entries(makers).map(([name, args]) => [name, made(name, args)] as const),
    ...Object.entries(procedures).map(([name, args]) => [name, library.func(`int ${name}(${args})`)] as const),
    ...freers.map((name) => [name, library.func(`void ${name}(void *object)`)] as const),
  ]);
  const property = library.func("int ov_core_get_property(void *core, const char *device, const char *key, _Out_ char **value)");
  const compile = library.func(
    "int ov_core_compile_model(void *core, void *model, const char *device, size_t count, _Out_ void **made, ...)",
  );
  // Both take a struct ov_shape_t, declared without a name: names of types are the process's.
  const [shape, place] = [koffi.struct({ rank: "int64_t", dims: "int64_t *" }), koffi.out("void **")];
  const wrap = library.func("ov_tensor_create_from_host_ptr", "int", ["int", shape, "void *", place]);
  const empty = library.func("ov_tensor_create", "int", ["int", shape, place]);
  const bytes = library.func("int ov_tensor_get_byte_size(void *tensor, _Out_ size_t *size)");
  const memory = made("ov_tensor_data", "void *tensor, ");
  const lastError = library.func("const char *ov_get_last_err_msg()");

  const check = (status: unknown): void => {
    if (status !== 0) throw new Error(`${lastError() ?? `OpenVINO's status ${status}`}`);
  };
  /** Calls it with a place for one value, and returns what was written there. */
  const written = <T>(call: (place: [T | null]) => unknown): T => {
    const place: [T | null] = [null];
    check(call(place));
    return place[0] as T;
  };
  const named = (name: string) => functions.get(name) as (...args: unknown[]) => unknown;
  return {
    call: (name, ...args) => check(named(name)(...args)),
    out: (name, ...args) => written<Pointer>((place) => named(name)(...args, place)),
    text: (_, ...args) => written<string>((place) => property(...args, place)),
    free: (name, object) => void named(name)(object),
    tensor(elementType, dims, data) {
      const sizes = { rank: dims.length, dims: [...dims] };
      return written<Pointer>((made) =>
        data.length === 0 ? empty(elementType, sizes, made) : wrap(elementType, sizes, data, made),
      );
    },
    numbers(tensor) {
      const size = Number(written<number | bigint>((place) => bytes(tensor, place)));
      if (size === 0) return new Float32Array(0);
      return new Float32Array(
        koffi.view(
          written<Pointer>((place) => memory(tensor, place)),
          size,
        ),
      );
    },
    compile: (core, model, config) =>
      written<Pointer>((place) => {
        const pairs = Object.entries(config).flat();
        return compile(core, model, "CPU", pairs.length, place, ...pairs.flatMap((text) => ["const char *", text]));
      }),
  };
}
