import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { EngineError } from "../../../src/core/errors.ts";

/** A state as a folder holds it: where the server keeps it, and numbers. */
const stateSchema = z.object({
  url: z.string(),
  path: z.string(),
  steps: z.int().min(0),
  rank: z.int().min(0),
  /** Weights of the reference, if there is one. */
  reference: z.string().nullable(),
});
export type RemoteState = z.output<typeof stateSchema>;

const fileName = "tinker.json";

export async function writeRemoteState(folder: string, state: RemoteState): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, fileName), `${JSON.stringify(state, null, 2)}\n`);
}

/** @throws EngineError if the folder holds none */
export async function readRemoteState(folder: string): Promise<RemoteState> {
  const file = join(folder, fileName);
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new EngineError(file, "not readable", { expected: "the reference of a state on a Tinker server", cause });
  });
  const parsed = stateSchema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new EngineError(file, "malformed", { expected: z.prettifyError(parsed.error) });
}

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
