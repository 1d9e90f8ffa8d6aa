import type { Value } from "./values.ts";

export type Method<T> = (self: T, positional: readonly Value[], keywords: ReadonlyMap<string, Value>) => Value;

export type Methods<T> = Readonly<Record<string, Method<T>>>;
