import { DeviceThread } from "./device-thread.ts";
import { openLibrary } from "./library.ts";
import { Native } from "./session.ts";

/** @throws EngineError where the library cannot be called */
export async function openNative(): Promise<Native> {
  return new Native(await openLibrary(), new DeviceThread());
}
