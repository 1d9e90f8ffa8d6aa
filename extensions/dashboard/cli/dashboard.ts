import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { ConfigError } from "../../../src/core/errors.ts";
import { runsFolder } from "../../../src/runs/layout.ts";
import { listenForInterrupt } from "../../../src/terminal/interrupt.ts";
import { openBrowser } from "../../../src/terminal/open-browser.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { besideTraining } from "../beside.ts";
import { defaultPort, startDashboard } from "../server/server.ts";

export interface DashboardFlags {
  readonly host?: string;
  readonly port?: string;
  readonly open?: boolean;
}

/** The server, the browser, and the end of a pipe that a parent holds. */
interface DashboardParts {
  readonly start: typeof startDashboard;
  readonly openPage: (url: string) => void;
  readonly parent: Readable;
}

/** Shows runs in a browser until Ctrl-C. @param folder of runs, or of one */
export async function dashboardCommand(
  folder: string | undefined,
  { host, port, open }: DashboardFlags,
  screen: Screen,
  { start, openPage, parent }: DashboardParts = { start: startDashboard, openPage: openBrowser, parent: process.stdin },
): Promise<void> {
  if (folder !== undefined && !existsSync(folder))
    throw new ConfigError("the folder", folder, { expected: "a folder of runs, or of one run" });
  const beside = process.env[besideTraining] !== undefined;
  const options = { runs: folder ?? runsFolder, host, port: portOf(port) };
  const dashboard = await start(options).catch((error: unknown) => {
    if (beside) return start({ ...options, port: 0 });
    throw error;
  });
  screen.address("Dashboard", dashboard.url);
  screen.line(screen.paint.dim("Ctrl-C ends it."));
  if (open) openPage(dashboard.url);
  await new Promise<void>((resolve) => {
    const ended = () => {
      interrupt.release();
      resolve();
    };
    const interrupt = listenForInterrupt(ended);
    // The trainer holds the other end, also where it is killed.
    if (beside) parent.on("end", ended).on("error", ended).resume();
  });
  await dashboard.close();
}

/** @throws ConfigError */
function portOf(text: string | undefined): number {
  const port = text === undefined ? defaultPort : Number(text);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new ConfigError("--port", text, { expected: "a number from 0 to 65535" });
}
