import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One temporary folder for a run of the tests: what they make lies in it, and it goes with the run. */
export function setup(): () => void {
  const outside = process.env.TMPDIR;
  const folder = mkdtempSync(join(tmpdir(), "retrograde-tests-"));
  process.env.TMPDIR = folder;
  return () => {
    if (outside === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = outside;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
