/** Names of parameters that hold keys, as in `?api_key=…`. */
const secretName =
  "(?:[\\w-]*[_-])?(?:api[_-]?key|key|token|secret|password|passwd|pwd|auth|authorization|signature|sig|credential)s?";

/** Looked for from the `://`: from the scheme's first letter, a long word without an address would be read once for each of its letters. */
const userInfo = /(?<=[a-z0-9+.-]:\/\/)[^\s/?#@"'<>]+@/gi;
const parameter = new RegExp(`([?&]${secretName}=)[^\\s&#"'<>]+`, "gi");

/** A text in which the addresses have no passwords and keys. What is not in an address stays as it is. */
export function withoutSecrets(text: string): string {
  return text.replace(userInfo, "[key]@").replace(parameter, "$1[key]");
}

/** The first string of a value in which an address has a password or a key, with its path. */
export function findSecret(
  value: unknown,
  path: readonly string[] = [],
): { readonly path: string; readonly shown: string } | undefined {
  if (typeof value === "string") {
    const shown = withoutSecrets(value);
    return shown === value ? undefined : { path: path.join("."), shown };
  }
  if (typeof value !== "object" || value === null || !(Array.isArray(value) || isPlain(value))) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = findSecret(inner, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Instances of classes are not settings, and may lead anywhere. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
