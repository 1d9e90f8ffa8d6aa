import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
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
