import { openLibrary } from "./library.ts";
import { NativeRunThread } from "./run-thread.ts";
import { Native } from "./session.ts";

/** @throws EngineError where the library cannot be called */
export async function openNative(): Promise<Native> {
  return new Native(await openLibrary(), new NativeRunThread());
}
