import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** How this program was called, for commands that a person can copy: "npx retrograde", or npm's way in a clone. @param folder the current one */
export function commandPrefix(env: NodeJS.ProcessEnv = process.env, folder = process.cwd()): string {
  const script = env.npm_lifecycle_event;
  if (script === "start" || script === "retrograde") return "npm run -s retrograde --";
  if (isInstalledFor(folder)) return "npx retrograde";
  if (env.npm_command === "exec") return "npx retrograde-rl";
  return "retrograde";
}

/** True if npx finds the program in the folder or one around it. */
function isInstalledFor(folder: string): boolean {
  if (existsSync(join(folder, "node_modules/.bin/retrograde"))) return true;
  return folder !== dirname(folder) && isInstalledFor(dirname(folder));
}

/** A path as it must be written in a command that a person copies. */
export function quoted(path: string): string {
  return /^[\w@%+=:,./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
