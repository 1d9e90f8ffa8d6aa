import { present } from "../../src/core/present.ts";
import { sorted } from "../python/methods.ts";
import { Printed } from "../python/objects.ts";
import { jsonText, repr } from "../python/text.ts";
import { Dict, PyObject, PySet, Tuple, type Value } from "../python/values.ts";
import type { Backend, Instance } from "./backends/backend.ts";
import { Directory, File } from "./backends/file-system.ts";

/**
 * The attributes of instances as JSON text, with objects that mark what JSON does not have: `__dir__` and `__file__`, `__pydict__` for a
 * dict with keys that are no texts, `__set__`, `__tuple__` and `__float__`.
 */
export function stateText(instances: ReadonlyMap<string, Instance>, which: "public" | "private"): string {
  const states = [...instances].map(([name, instance]) => {
    const values = which === "public" ? publicAttributes(instance) : instance.backend.privateAttributes(instance.state);
    return [name, Dict.from(values.map(([key, value]) => [key, encode(value)]))] as const;
  });
  return jsonText(Dict.from(states));
}

const namesOf = new Map<Backend, readonly string[]>();

/** The names of the attributes that the state check compares: those of a class are always the same. */
export function publicNames({ backend, state }: Instance): readonly string[] {
  let names = namesOf.get(backend);
  if (names === undefined) namesOf.set(backend, (names = Object.keys(state).filter((name) => !name.startsWith("_"))));
  return names;
}

function publicAttributes(instance: Instance): [string, Value][] {
  const values = instance.state as Readonly<Record<string, Value>>;
  return publicNames(instance).map((name) => [name, present(values[name], name)]);
}

function encode(value: Value): Value {
  if (typeof value === "number" && !Number.isFinite(value)) return Dict.of({ __float__: repr(value) });
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(encode);
  if (value instanceof Tuple) return Dict.of({ __tuple__: value.items.map(encode) });
  if (value instanceof PySet) return Dict.of({ __set__: inOrder(value.items()).map(encode) });
  if (value instanceof Dict) {
    const pairs = value.pairs().map(([key, item]) => [key, encode(item)] as const);
    if (pairs.every(([key]) => typeof key === "string")) return Dict.from(pairs);
    return Dict.of({ __pydict__: pairs.map(([key, item]) => [encode(key), item]) });
  }
  if (value instanceof Directory)
    return Dict.from([
      ["__dir__", value.name],
      ["contents", encode(value.contents)],
    ]);
  if (value instanceof File)
    return Dict.from([
      ["__file__", value.name],
      ["content", encode(value.content)],
    ]);
  if (value instanceof Printed && value.text === "Ellipsis") return Dict.of({ __ellipsis__: true });
  return value instanceof PyObject ? Dict.of({ __repr__: value.repr() }) : value;
}

/** The items of a set, which has no order of its own: as Python sorts them, or by their texts. */
function inOrder(items: readonly Value[]): Value[] {
  try {
    return sorted([...items], undefined, false);
  } catch {
    return sorted([...items], repr, false);
  }
}
