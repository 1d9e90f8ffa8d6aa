/** A tool's result as the model reads it. */
export interface ResultText {
  readonly text: string;
  /** The first part of the result that JSON cannot hold, in words. Undefined if nothing was lost. */
  readonly lost?: string;
}

/**
 * Returns a string as it is, anything else as JSON. A part that JSON would drop or show as `{}` or `null` is named in the text.
 * @throws TypeError for a circular structure or a bigint
 */
export function resultText(result: unknown): ResultText {
  if (typeof result === "string") return { text: result };
  if (ArrayBuffer.isView(result) || result instanceof ArrayBuffer)
    return { text: `[binary data, ${result.byteLength} bytes: not shown]`, lost: "binary data" };
  if (result === undefined) return { text: "", lost: "undefined: it returned nothing" };
  let lost: string | undefined;
  const text = JSON.stringify(result, (key, value: unknown) => {
    const kind = unwritable(value);
    if (kind === undefined) return value;
    lost ??= key === "" ? kind : `${kind} under "${key}"`;
    return `[${kind}: not shown]`;
  });
  if (lost === undefined) return { text };
  const whole = unwritable(result);
  return { text: whole === undefined ? text : `[${whole}: not shown]`, lost };
}

/** Returns what a value is that JSON has no form for. undefined for those that it has, and for undefined itself: optional fields are left out. */
function unwritable(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : String(value);
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value !== "object" || value === null || "toJSON" in value) return undefined;
  const name = nameOf(value);
  if (value instanceof Map || value instanceof Set) return `a ${name} of ${value.size}`;
  if (value instanceof Error) return `the error "${value.message}" (returned, not thrown)`;
  if ("then" in value && typeof value.then === "function") return "a promise (is an await missing?)";
  if (Array.isArray(value) || Object.keys(value).length > 0) return undefined;
  if ("next" in value && typeof value.next === "function") return `a generator (${name})`;
  return name === "Object" ? undefined : `an instance of ${name} without fields of its own`;
}

function nameOf(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null ? "Object" : (value.constructor?.name ?? "Object");
}
