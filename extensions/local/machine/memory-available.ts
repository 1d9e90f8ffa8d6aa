import { platform, totalmem } from "node:os";
import { z } from "zod";
import { ConfigError } from "../../../src/core/errors.ts";
import { memoryVariable } from "../memory.ts";

const gibibytesSchema = z.coerce.number().positive();

/**
 * Bytes that this process may still take, a container's limit included; what RETROGRADE_MEMORY says, if it is set.
 * @throws ConfigError if that is no number
 */
export function availableMemory(env: NodeJS.ProcessEnv = process.env): number {
  const said = env[memoryVariable];
  if (said) {
    const parsed = gibibytesSchema.safeParse(said);
    if (!parsed.success) throw new ConfigError(memoryVariable, said, { expected: "a number of GiB, such as 12" });
    return parsed.data * 2 ** 30;
  }
  // macOS calls memory free only if nothing was ever in it; most of the rest it gives back on demand.
  return platform() === "darwin" ? 0.7 * totalmem() : process.availableMemory();
}
