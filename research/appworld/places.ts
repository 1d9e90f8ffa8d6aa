import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { AppworldSettings } from "./settings.ts";

/** The version that this adapter was tested with. */
export const testedVersion = "0.1.3.post1";

function cacheFolder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "retrograde");
}

/** The virtual environment that the commands of `doctor` make. */
function defaultVenv(env: NodeJS.ProcessEnv = process.env): string {
  return join(cacheFolder(env), "appworld");
}

export function pythonOf({ python }: Pick<AppworldSettings, "python">, env: NodeJS.ProcessEnv = process.env): string {
  const own = join(defaultVenv(env), process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  return python ?? (existsSync(own) ? own : "python3");
}

export function rootOf({ root }: Pick<AppworldSettings, "root">, env: NodeJS.ProcessEnv = process.env): string {
  return root ?? (env.APPWORLD_ROOT || join(cacheFolder(env), "appworld-root"));
}

/** Returns the commands that a user has to type, in order. */
export function setupCommands(
  root: string,
  env: NodeJS.ProcessEnv = process.env,
): { readonly install: string; readonly data: string } {
  const venv = defaultVenv(env);
  return {
    install: `python3 -m venv ${venv} && ${venv}/bin/pip install appworld==${testedVersion} && ${venv}/bin/appworld install`,
    data: `mkdir -p ${root} && ${venv}/bin/appworld download data --root ${root}`,
  };
}
