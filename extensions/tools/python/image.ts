import { execFile } from "node:child_process";
import { mkdtempSync, openSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { reasonOf, ToolError } from "../../../src/core/errors.ts";
import { once } from "../../../src/core/once.ts";
import { isMissing } from "../../../src/core/optional-package.ts";
import { nodeProgram } from "./node.ts";

/** The folder of the programs of a Python process. */
export const guest = fileURLToPath(new URL("./guest/", import.meta.url));

/**
 * Returns a descriptor of the image that interpreters start from. It is made at the first call in a program, in a process of its own, and is in a
 * file that nobody finds: it has no name any more.
 * @throws ToolError if it cannot be made
 */
export const openImage = once(() => makeImage());

/** Runs a program of Node to its end. */
type RunNode = (args: readonly string[]) => Promise<unknown>;

const runNode: RunNode = async (args) => promisify(execFile)(await nodeProgram(), args, { env: {} });

export async function makeImage(run = runNode): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-python-"));
  try {
    const pyodide = dirname(realpathSync(createRequire(import.meta.url).resolve("pyodide/package.json")));
    const file = join(folder, "image");
    await run([join(guest, "build.mjs"), pyodide, file]);
    return openSync(file, "r");
  } catch (cause) {
    throw imageError(cause);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The cause in words: each has another next step. */
export function imageError(cause: unknown): ToolError {
  if (cause instanceof ToolError) return cause; // it says what is missing
  const failed = cause as { readonly signal?: unknown; readonly stderr?: unknown };
  const expected = "an image of Python's interpreter";
  if (isMissing(cause))
    return new ToolError("python", "without the package pyodide", { expected, hint: "npm install pyodide", cause });
  if (typeof failed.signal === "string")
    return new ToolError("python", `ended by ${failed.signal} while its image was made`, {
      expected,
      hint: "Another program ended it, or the system did, for want of memory: it needs 200 MB for a few seconds.",
      cause,
    });
  const said = `${reasonOf(cause)}\n${String(failed.stderr ?? "")}`;
  const systemWords = /E(?:NOSPC|DQUOT|ROFS|ACCES|MFILE|NOMEM|AGAIN)\b[^\n]*/.exec(said)?.[0];
  const problem = systemWords ?? reasonOf(cause);
  const hint =
    systemWords === undefined ? undefined : "Its image needs 25 MB among the temporary files: TMPDIR names their folder.";
  return new ToolError("python", problem, { expected, hint, cause });
}
