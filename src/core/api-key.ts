import { ConfigError } from "./errors.ts";

/**
 * Reads the key of a server from an environment variable, without white space around it.
 * @param server its address or its name, for the error
 * @throws ConfigError if the variable is not set
 */
export function apiKeyFrom(
  env: Readonly<Record<string, string | undefined>>,
  variable: string,
  server: string,
  hint = "Set it.",
): string {
  const key = env[variable]?.trim();
  if (key) return key;
  throw new ConfigError(`environment variable ${variable}`, undefined, { expected: `the API key of ${server}`, hint });
}

/** The hint where a setting names the variable, and null means that the server wants no key. */
export function keyHint(setting: string): string {
  return `Set it, name another variable in ${setting}, or give null there if the server wants no key.`;
}
