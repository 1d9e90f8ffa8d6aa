/** The part of WebAssembly that is used. TypeScript has it among the types of browsers only. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
    static imports(module: Module): readonly { module: string; name: string; kind: string }[];
  }
  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, unknown>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Memory {
    constructor(size: { initial: number; maximum: number });
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  class Global {
    constructor(type: { value: "i32"; mutable: boolean }, value: number);
    value: number;
  }
  class Table {
    constructor(size: { element: "anyfunc"; initial: number });
    get(at: number): (...values: readonly number[]) => number;
  }
}
