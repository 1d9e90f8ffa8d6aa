import { isDeepStrictEqual } from "node:util";

/** Lists the settings in which two configurations differ, by their paths. */
export function differingSettings(a: unknown, b: unknown, path = ""): { path: string; a: string; b: string }[] {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (isObject(a) && isObject(b)) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
    return keys.flatMap((key) => differingSettings(a[key], b[key], path === "" ? key : `${path}.${key}`));
  }
  if (isDeepStrictEqual(a, b)) return [];
  const shown = (value: unknown) => (value === undefined ? "–" : JSON.stringify(value));
  return [{ path, a: shown(a), b: shown(b) }];
}
