import { existsSync } from "node:fs";
import { mkdir, readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import { ModelError } from "../core/errors.ts";
import { indexFile, isComplete, type RepoCache, repoCache, shardsOf } from "./cache.ts";
import { listFolder, type RemoteFile } from "./client.ts";
import { sizeOf } from "./download.ts";
import { fetchCommit, fetchFile, type HubEvent, type HubSource, hasSize } from "./fetch.ts";
import { formatHubName, type HubName } from "./name.ts";
import { type HubSettings, hubSettings } from "./settings.ts";

export interface FetchOptions {
  readonly settings?: HubSettings;
  readonly onEvent?: (event: HubEvent) => void;
  /** Looks at config.json before the weights are fetched, and throws for a model that could not be used anyway. */
  readonly inspect?: (configFile: string) => void | Promise<void>;
  /** Whether the weights are needed. Without them tokenizer, chat template and config.json are fetched. Default true. */
  readonly weights?: boolean;
}

/**
 * The folder of a model on the Hub, downloaded into the cache unless it is there. Only what the engine, the tokenizer and
 * `transformers` need of it: no other framework's weights.
 * @throws ConfigError if the Hub knows no such model, or this machine may not have it
 * @throws ModelError if it cannot be reached, has no such weights, or the download is corrupt or does not fit the disk
 */
export async function fetchModel(name: HubName, options: FetchOptions = {}): Promise<string> {
  const { settings = hubSettings(), onEvent = () => {}, weights = true } = options;
  const cache = repoCache(settings.cacheFolder, name.repo);
  const source: HubSource = { name, kind: "model", cache, settings, onEvent };
  const isThere = (snapshot: string) => isComplete(snapshot, weights);
  return cache.snapshot(await fetchCommit(source, isThere, (commit) => fetchSnapshot(source, commit, options)));
}

/** Beside the weights. The last ones are for `transformers`, which should be able to read what was trained. */
const smallFiles =
  /^(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|chat_template)\.json$|^(chat_template\.jinja|merges\.txt|tokenizer\.model)$/;

async function fetchSnapshot(
  source: HubSource,
  commit: string,
  { inspect = () => {}, weights: withWeights = true }: FetchOptions,
): Promise<void> {
  const { name, cache, settings, onEvent } = source;
  const snapshot = cache.snapshot(commit);
  const files = await listFolder({ repo: name.repo, commit }, settings);
  requireModel(files, name);

  const arrived = new Map<string, number>();
  let total = 0;
  const get = async (wanted: readonly RemoteFile[]) => {
    const missing = wanted.filter((file) => !existsSync(join(snapshot, file.path)));
    total += missing.reduce((sum, { size }) => sum + size, 0);
    for (const file of missing) {
      const onBytes = (bytes: number) => {
        arrived.set(file.path, bytes);
        onEvent({ type: "progress", done: [...arrived.values()].reduce((sum, each) => sum + each, 0), total });
      };
      await fetchFile(source, commit, file, onBytes);
    }
  };

  const named = (path: string) => files.filter((file) => file.path === path);
  await get(named("config.json"));
  await inspect(join(snapshot, "config.json"));
  const whole = named("model.safetensors"); // goes before shards, as in transformers
  const wantsIndex = withWeights && whole.length === 0;
  await get(files.filter(({ path }) => smallFiles.test(path) || (path === indexFile && wantsIndex)));
  if (!withWeights) return;
  const weights = whole.length > 0 ? whole : await shardFiles(files, snapshot, name);
  await requireSpace(weights, cache, settings.cacheFolder);
  await get(weights);
}

/** @throws ModelError saying what the repository has instead */
function requireModel(files: readonly RemoteFile[], name: HubName): void {
  const has = (path: string) => files.some((file) => file.path === path);
  const weights = has(indexFile) || has("model.safetensors");
  const isModel = weights && has("config.json") && has("tokenizer.json");
  const adapter = "adapter_config.json"; // transformers loads it and its base, whatever else there is
  if (isModel && !has(adapter)) return;
  const missing = !weights ? "model.safetensors" : has("config.json") ? "tokenizer.json" : "config.json";
  const instead = (
    [
      [/^adapter_config\.json$/, "It has a LoRA adapter: merge it into its base model first."],
      [/\.gguf$/, "It has GGUF files: name one of them, OWNER/NAME:FILE.gguf, or take the model that they were made from."],
      [/\.(bin|pt|pth)$/, "It has PyTorch files: look for a branch with safetensors, or convert them with transformers."],
    ] as const
  ).find(([pattern]) => files.some(({ path }) => pattern.test(path)));
  throw new ModelError(`${isModel ? adapter : missing} in ${formatHubName(name)}`, isModel ? "unexpected" : undefined, {
    expected: "a repository with config.json, tokenizer.json and model.safetensors, or shards with an index",
    hint: instead?.[1] ?? "docs/models.md says which models work.",
  });
}

async function shardFiles(files: readonly RemoteFile[], snapshot: string, name: HubName): Promise<RemoteFile[]> {
  const paths = shardsOf(await readFile(join(snapshot, indexFile), "utf8"));
  if (paths === undefined)
    throw new ModelError(`${indexFile} of ${formatHubName(name)}`, "malformed", { expected: "a weight_map" });
  return paths.map((path) => {
    const file = files.find((each) => each.path === path);
    if (file === undefined)
      throw new ModelError(`${path} in ${formatHubName(name)}`, undefined, { expected: `as ${indexFile} says` });
    return file;
  });
}

/** Before hours of downloading. @throws ModelError if the disk has less room than is missing */
async function requireSpace(weights: readonly RemoteFile[], cache: RepoCache, cacheFolder: string): Promise<void> {
  let needed = 0;
  for (const file of weights) {
    const blob = cache.blob(file);
    if (await hasSize(blob, file.size)) continue;
    needed += file.size - Math.min(file.size, await sizeOf(`${blob}.incomplete`));
  }
  await mkdir(cacheFolder, { recursive: true });
  const { bavail, bsize } = await statfs(cacheFolder);
  if (needed <= bavail * bsize) return;
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new ModelError(`free space in ${cacheFolder}`, gigabytes(bavail * bsize), {
    expected: `${gigabytes(needed)}, which is missing of the weights`,
    hint: "Free some space, or name another folder in HF_HUB_CACHE.",
  });
}
