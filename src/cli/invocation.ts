import { existsSync } from "node:fs";

/** How this program was called, for commands that a person can copy: "npx retrograde", or npm's way in a clone. */
export function commandPrefix(env: NodeJS.ProcessEnv = process.env): string {
  const script = env.npm_lifecycle_event;
  if (script === "start" || script === "retrograde") return "npm run -s retrograde --";
  if (existsSync("node_modules/.bin/retrograde")) return "npx retrograde";
  if (env.npm_command === "exec") return "npx retrograde-rl";
  return "retrograde";
}

/** A path as it must be written in a command that a person copies. */
export function quoted(path: string): string {
  return /^[\w@%+=:,./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
