import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { EngineError } from "../../../src/core/errors.ts";

/** Writes downloaded weights: an adapter into `adapter/`, a model into the folder itself. @throws EngineError for paths that lead out of it */
export async function writeWeights(folder: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const into = files.has("adapter_config.json") ? join(folder, "adapter") : folder;
  for (const [name, bytes] of files) {
    if (name.startsWith("/") || name.split("/").includes(".."))
      throw new EngineError("a file of the downloaded weights", name, { expected: "a path inside of the archive" });
    await mkdir(dirname(join(into, name)), { recursive: true });
    await writeFile(join(into, name), bytes);
  }
}
