import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { z } from "zod";
import { jsonOf } from "../core/json.ts";
import type { RemoteFile } from "./client.ts";
import type { HubName, RepoKind } from "./name.ts";

/**
 * The cache that Hugging Face's own tools share: a folder for each repository, with
 *   blobs/DIGEST            what was downloaded and verified; DIGEST.incomplete what is on its way
 *   snapshots/COMMIT/NAME   links to blobs: a model's folder
 *   refs/BRANCH             the commit that a branch named at its last look-up
 */
export interface RepoCache {
  readonly folder: string;
  readonly lock: string;
  blob(file: RemoteFile): string;
  snapshot(commit: string): string;
}

export function repoCache(cacheFolder: string, repo: string, kind: RepoKind = "model"): RepoCache {
  const name = `${kind}s--${repo.replaceAll("/", "--")}`;
  const folder = join(cacheFolder, name);
  return {
    folder,
    lock: join(cacheFolder, ".locks", name, "retrograde.lock"),
    blob: ({ digest }) => join(folder, "blobs", digest.hex),
    snapshot: (commit) => join(folder, "snapshots", commit),
  };
}

export function isCommit(revision: string | undefined): revision is string {
  return /^[0-9a-f]{40}$/.test(revision ?? "");
}

/** Returns the commit that a name referred to at its last look-up; a commit refers to itself. */
export function cachedCommit(cache: RepoCache, { revision = "main" }: HubName): string | undefined {
  if (isCommit(revision)) return revision;
  const file = join(cache.folder, "refs", revision);
  const commit = existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
  return isCommit(commit) ? commit : undefined;
}

export async function recordCommit(cache: RepoCache, { revision = "main" }: HubName, commit: string): Promise<void> {
  if (isCommit(revision) || cachedCommit(cache, { repo: "", revision }) === commit) return;
  const file = join(cache.folder, "refs", revision);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, commit);
}

export const indexFile = "model.safetensors.index.json";
const indexSchema = z.object({ weight_map: z.record(z.string(), z.string().regex(/^[\w.-]+\.safetensors$/)) });

/** The files of the weights that an index names. @returns undefined if it is no index */
export function shardsOf(index: string): string[] | undefined {
  const { data } = indexSchema.safeParse(jsonOf(index));
  return data && [...new Set(Object.values(data.weight_map))];
}

/**
 * True if a snapshot has all that a model needs. A link whose blob is not there yet leads nowhere, and so counts as missing.
 * @param weights whether that includes the weights
 */
export function isComplete(snapshot: string, weights: boolean): boolean {
  const has = (name: string) => existsSync(join(snapshot, name));
  if (!has("config.json") || !has("tokenizer.json")) return false;
  if (!weights) return true;
  if (has("model.safetensors")) return true;
  return has(indexFile) && (shardsOf(readFileSync(join(snapshot, indexFile), "utf8"))?.every(has) ?? false);
}

/** Puts a blob into a snapshot: a link, or the file itself where links are not allowed (Windows). */
export async function link(blob: string, snapshot: string, name: string): Promise<void> {
  const target = join(snapshot, name);
  if (existsSync(target)) return;
  await mkdir(dirname(target), { recursive: true });
  await rm(target, { force: true }); // a link that leads nowhere
  try {
    await symlink(relative(dirname(target), blob), target);
  } catch (error) {
    if (!existsSync(target) && !isNotAllowed(error)) throw error;
    if (!existsSync(target)) await rename(blob, target);
  }
}

function isNotAllowed(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EPERM" || error.code === "ENOSYS");
}
