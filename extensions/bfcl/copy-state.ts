import { deepCopy } from "../python/copy.ts";
import { PythonRandom } from "../python/random.ts";
import { Dict, PyObject, PySet, Tuple, type Value } from "../python/values.ts";

/**
 * Copies a backend's state, or what backends share: Python values, random generators, and plain objects of them. What is one object
 * within everything that is copied with the same memo stays one.
 */
export function copyState<T>(value: T, memo: Map<object, object>): T {
  if (value === null || typeof value !== "object") return value;
  const known = memo.get(value);
  if (known !== undefined) return known as T;
  if (value instanceof PythonRandom) {
    const copy = value.clone();
    memo.set(value, copy);
    return copy as T;
  }
  if (isPythonValue(value)) return deepCopy(value, memo) as T;
  if (value instanceof Map) {
    const copy = new Map();
    memo.set(value, copy);
    for (const [key, item] of value) copy.set(key, copyState(item, memo));
    return copy as T;
  }
  const copy: Record<string, unknown> = {};
  memo.set(value, copy);
  for (const [key, item] of Object.entries(value)) copy[key] = copyState(item, memo);
  return copy as T;
}

function isPythonValue(value: object): value is Extract<Value, object> {
  return (
    Array.isArray(value) || value instanceof Dict || value instanceof PySet || value instanceof Tuple || value instanceof PyObject
  );
}
