import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ToolError } from "../../../src/core/errors.ts";
import { once } from "../../../src/core/once.ts";
import { runtime } from "../../../src/core/runtime.ts";

/**
 * Returns the path of Node's program, which Python processes run in. In Node it is this process's own, in Bun and Deno the one on the PATH: their
 * own programs do not start behind the walls.
 * @throws ToolError if there is none
 */
export const nodeProgram = once(() => findNode());

/** Version managers put scripts on the PATH, and Bun a link to itself. So the program is asked where and what it is. */
const expression = "process.versions.bun === undefined ? process.execPath : ''";

const ask = async (args: readonly string[], env: NodeJS.ProcessEnv) => (await promisify(execFile)("node", args, { env })).stdout;

export async function findNode({ name, version } = runtime(), env: NodeJS.ProcessEnv = process.env, run = ask): Promise<string> {
  if (name === "node") return process.execPath;
  const { found, cause } = await run(["-p", expression], env).then(
    (stdout) => ({ found: stdout.trim(), cause: undefined }),
    (cause: unknown) => ({ found: "", cause }),
  );
  if (found !== "") return found;
  const expected = `Node 20.19 or later on the PATH: its processes can be closed off, those of ${version} cannot`;
  throw new ToolError("python", "without Node", { expected, hint: `Install Node beside ${version}.`, cause });
}
