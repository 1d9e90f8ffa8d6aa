import { openLibrary } from "./library.ts";
import { NativeRunThread } from "./run-thread.ts";
import { Native } from "./session.ts";

/** @throws EngineError where the library cannot be called */
export async function openNative(): Promise<Native> {
  const library = await openLibrary();
  // 4: fatal; what goes wrong comes as an exception
  return new Native(library, new NativeRunThread(), await library.makeAside("CreateEnv", 4, "retrograde"));
}
