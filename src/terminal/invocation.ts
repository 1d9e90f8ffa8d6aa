import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { runtime } from "../core/runtime.ts";

/** The folder that the program was started in: a tool may change the current one. */
const startedIn = process.cwd();

/** How an installed program is run outside of Node. `bunx` alone takes Node where there is one. */
const runtimes: Readonly<Record<string, string>> = { bun: "bunx --bun retrograde-rl", deno: "deno run -A npm:retrograde-rl" };

/** How package managers run it in Node, by the name that each gives itself. */
const managers: Readonly<Record<string, string>> = {
  bun: "bunx retrograde-rl",
  pnpm: "pnpm exec retrograde-rl",
  yarn: "yarn retrograde-rl",
};

/**
 * How this program was called, for commands that a person can copy: "npx retrograde-rl", or npm's way in a clone. The name is the package's own:
 * npx installs what it does not find, and no other package may be what it finds.
 * @param folder where it is called
 */
export function commandPrefix(env: NodeJS.ProcessEnv = process.env, folder = startedIn, { name } = runtime()): string {
  const script = env.npm_lifecycle_event;
  if (script === "start" || script === "retrograde") return "npm run -s retrograde --";
  const [manager = "npm"] = /^\w+/.exec(env.npm_config_user_agent ?? "") ?? [];
  return (isInstalledFor(folder) ? (runtimes[name] ?? managers[manager]) : undefined) ?? "npx retrograde-rl";
}

/** True if npx finds the program in the folder or one around it. */
function isInstalledFor(folder: string): boolean {
  if (existsSync(join(folder, "node_modules/.bin/retrograde-rl"))) return true;
  return folder !== dirname(folder) && isInstalledFor(dirname(folder));
}

/** A path as people read it: from the folder that the program was started in, if it is below that. */
export function shownPath(path: string): string {
  const below = relative(startedIn, path);
  return below === "" || below.startsWith("..") || isAbsolute(below) ? path : below;
}

/** A path as it must be written in a command that a person copies. */
export function quoted(path: string): string {
  return /^[\w@%+=:,./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
