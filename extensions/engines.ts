import { addEngines } from "../src/engines/registry.ts";
import { localEngine } from "./local/kind.ts";
import { tinkerEngine } from "./tinker/engine/kind.ts";

/** The engines of this package, the default first. Help needs their settings, so they are added before other extensions are loaded. */
export const engines = { local: localEngine, tinker: tinkerEngine };

declare module "../src/engines/registry.ts" {
  interface EngineSettings {
    readonly local: typeof localEngine.settings;
    readonly tinker: typeof tinkerEngine.settings;
  }
}

addEngines(engines);
