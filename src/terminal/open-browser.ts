import { spawn } from "node:child_process";

/** Opens an address in the user's browser. Where that cannot be done, nothing happens: the address has been printed. */
export function openBrowser(url: string): void {
  const [command, ...args] = openingCommand(process.platform, url);
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}

/** The words with which a system opens an address. */
export function openingCommand(platform: NodeJS.Platform, url: string): readonly [string, ...string[]] {
  if (platform === "darwin") return ["open", url];
  return platform === "win32" ? ["cmd", "/c", "start", "", url] : ["xdg-open", url];
}
