import { ConfigError } from "./errors.ts";

/**
 * Loads code that needs a package which an installation may leave out (`optionalDependencies`).
 * @param use what needs it, in words
 * @param install arguments of `npm install` that install it
 * @throws ConfigError with the command that installs it, if it is absent
 */
export async function withPackage<T>(name: string, use: string, load: () => Promise<T>, install = name): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw absent(name, use, install, cause);
  }
}

/** Returns the error of an absent package, or the cause if that is another one. */
function absent(name: string, use: string, install: string, cause: unknown): unknown {
  if (!isMissing(cause)) return cause;
  return new ConfigError(`the package ${name}`, undefined, {
    expected: `it to be installed: ${use} need it`,
    hint: `npm install ${install}`,
    cause,
  });
}

/** True for the error of an import whose package is absent. */
export function isMissing(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
}
