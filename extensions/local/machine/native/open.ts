import { DeviceThread } from "./device-thread.ts";
import { openLibrary } from "./library.ts";
import { Native } from "./session.ts";

let native: Promise<Native> | undefined;

/** @throws EngineError where the library cannot be called */
export function openNative(): Promise<Native> {
  native ??= openLibrary().then((library) => new Native(library, new DeviceThread()));
  return native;
}
