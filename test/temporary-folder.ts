import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One temporary folder for a run of the tests: what they make lies in it, and it goes with the run. */
export function setup(): () => void {
  const outside = process.env.TMPDIR;
  const folder = mkdtempSync(join(tmpdir(), "retrograde-tests-"));
  process.env.TMPDIR = folder;
  const config = process.env.XDG_CONFIG_HOME;
  process.env.XDG_CONFIG_HOME = join(folder, "config"); // the key by which own runs are known is not the user's
  return () => {
    if (outside === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = outside;
    if (config === undefined) delete process.env.XDG_CONFIG_HOME;
    else process.env.XDG_CONFIG_HOME = config;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
