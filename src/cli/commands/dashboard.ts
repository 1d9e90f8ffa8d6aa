import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { ConfigError } from "../../core/errors.ts";
import { runsFolder } from "../../runs/layout.ts";
import { defaultPort, startDashboard } from "../../server/dashboard/server.ts";
import { besideTraining } from "../dashboard-process.ts";
import { listenForInterrupt } from "../interrupt.ts";
import type { Screen } from "../screen.ts";

export interface DashboardFlags {
  readonly host?: string;
  readonly port?: string;
  readonly open?: boolean;
}

/** Shows runs in a browser until Ctrl-C. @param folder of runs, or of one */
export async function dashboardCommand(
  folder: string | undefined,
  { host, port, open }: DashboardFlags,
  screen: Screen,
): Promise<void> {
  if (folder !== undefined && !existsSync(folder))
    throw new ConfigError("the folder", folder, { expected: "a folder of runs, or of one run" });
  const beside = process.env[besideTraining] !== undefined;
  const options = { runs: folder ?? runsFolder, host, port: portOf(port) };
  const dashboard = await startDashboard(options).catch((error: unknown) => {
    if (beside) return startDashboard({ ...options, port: 0 });
    throw error;
  });
  screen.address("Dashboard", dashboard.url);
  screen.line(screen.paint.dim("Ctrl-C ends it."));
  if (open) openBrowser(dashboard.url);
  await new Promise<void>((ended) => {
    const interrupt = listenForInterrupt(() => ended());
    interrupt.signal.addEventListener("abort", () => interrupt.release(), { once: true });
    // The trainer holds the other end, also where it is killed.
    if (beside) process.stdin.on("end", ended).on("error", ended).resume();
  });
  await dashboard.close();
}

/** @throws ConfigError */
function portOf(text: string | undefined): number {
  const port = text === undefined ? defaultPort : Number(text);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new ConfigError("--port", text, { expected: "a number from 0 to 65535" });
}

/** Where that cannot be done, the address has been printed. */
export function openBrowser(url: string): void {
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", "", url]
        : ["xdg-open", url];
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
