import { execFile } from "node:child_process";
import { ConfigError } from "../../src/core/errors.ts";

/**
 * A Python that has PyTorch and transformers: the given one, `RETROGRADE_PYTHON`, or `python3` on the path.
 * @returns its command, or undefined if none was named and `python3` lacks them
 * @throws ConfigError if the named one lacks them
 */
export async function findPython(
  given?: string,
  env: NodeJS.ProcessEnv = process.env,
  failureOf: (python: string) => Promise<Error | null> = failure,
): Promise<string | undefined> {
  const named = given ?? env.RETROGRADE_PYTHON;
  const python = named ?? "python3";
  const cause = await failureOf(python);
  if (cause === null) return python;
  if (named === undefined) return undefined;
  const expected = "a Python that imports torch and transformers";
  throw new ConfigError(given === undefined ? "RETROGRADE_PYTHON" : "--python", named, { expected, cause });
}

function failure(python: string): Promise<Error | null> {
  return new Promise((resolve) => void execFile(python, ["-c", "import torch, transformers"], (error) => resolve(error)));
}
