import { execFile } from "node:child_process";
import { mkdtempSync, openSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ToolError } from "../../core/errors.ts";

/** The folder of the programs of a Python process. */
export const guest = fileURLToPath(new URL("./guest/", import.meta.url));

let made: Promise<number> | undefined;

/**
 * Returns a descriptor of the image that interpreters start from. It is made at the first call in a program, in a process of its own, and is in a
 * file that nobody finds: it has no name any more.
 * @throws ToolError if it cannot be made
 */
export function openImage(): Promise<number> {
  made ??= makeImage().catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  return made;
}

async function makeImage(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-python-"));
  try {
    const pyodide = dirname(realpathSync(createRequire(import.meta.url).resolve("pyodide/package.json")));
    const file = join(folder, "image");
    await promisify(execFile)(process.execPath, [join(guest, "build.mjs"), pyodide, file], { env: {} });
    return openSync(file, "r");
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new ToolError("python", problem, {
      expected: "an image of Python's interpreter",
      hint: "Is pyodide installed, and room left for temporary files?",
      cause,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
