import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ModelError } from "../core/errors.ts";
import { withLock } from "../files/lock.ts";
import { cachedCommit, isCommit, link, recordCommit, repoCache } from "./cache.ts";
import { findCommit, listFolder, type RemoteFile } from "./client.ts";
import { downloadVerified } from "./download.ts";
import type { HubEvent } from "./model.ts";
import { formatHubName, type HubName, type RepoKind } from "./name.ts";
import { explain, isPassing, messageOf } from "./problems.ts";
import { type HubSettings, hubSettings } from "./settings.ts";

export interface DatasetFile {
  /** Its name in the repository. */
  readonly path: string;
  /** Where it is on this machine. */
  readonly file: string;
}

export interface FetchedDataset {
  readonly commit: string;
  readonly files: readonly DatasetFile[];
}

export interface DatasetOptions {
  readonly settings?: HubSettings;
  readonly onEvent?: (event: HubEvent) => void;
}

/** `fetchFiles` of a dataset. */
export function fetchDataset(name: HubName, paths: readonly string[], options: DatasetOptions = {}): Promise<FetchedDataset> {
  return fetchFiles("dataset", name, paths, options);
}

/**
 * Downloads files of a repository into the cache that the Hub's own tools share, unless they are there. Each is verified by the digest that the
 * Hub's listing of that commit gives. Where the Hub does not answer, files that were fetched before are used.
 * @throws ConfigError if the Hub knows no such repository, or this machine may not have it: the message says where to accept its terms
 * @throws ModelError if it cannot be reached, lacks a file, or the download is corrupt
 */
export async function fetchFiles(
  kind: RepoKind,
  name: HubName,
  paths: readonly string[],
  { settings = hubSettings(), onEvent = () => {} }: DatasetOptions = {},
): Promise<FetchedDataset> {
  const cache = repoCache(settings.cacheFolder, name.repo, kind);
  const found = (commit: string): FetchedDataset => ({
    commit,
    files: paths.map((path) => ({ path, file: join(cache.snapshot(commit), path) })),
  });
  const isThere = (commit: string) => found(commit).files.every(({ file }) => existsSync(file));
  const known = cachedCommit(cache, name);
  const cached = known !== undefined && isThere(known) ? found(known) : undefined;
  if (cached !== undefined && (settings.offline || isCommit(name.revision))) return cached;
  if (settings.offline) throw explain(undefined, name, settings, kind);
  try {
    const commit = isCommit(name.revision) ? name.revision : await findCommit(name, settings, kind);
    await withLock(
      cache.lock,
      () => onEvent({ type: "waiting" }),
      async () => {
        if (isThere(commit)) return;
        const files = await listed(kind, name, commit, paths, settings);
        const total = files.reduce((sum, { size }) => sum + size, 0);
        let before = 0;
        for (const file of files) {
          const onBytes = (bytes: number) => onEvent({ type: "progress", done: before + bytes, total });
          const blob = cache.blob(file);
          const size = (await stat(blob).catch(() => undefined))?.size;
          if (size !== file.size) await downloadVerified({ repo: name.repo, commit, kind, file, to: blob, onBytes }, settings);
          before += file.size;
          await link(blob, cache.snapshot(commit), file.path);
        }
      },
    );
    await recordCommit(cache, name, commit);
    return found(commit);
  } catch (error) {
    if (cached === undefined || !isPassing(error)) throw explain(error, name, settings, kind);
    onEvent({ type: "from-cache", reason: messageOf(error) });
    return cached;
  }
}

/** The listing's entry of each path. @throws ModelError naming the first that is missing */
async function listed(
  kind: RepoKind,
  name: HubName,
  commit: string,
  paths: readonly string[],
  settings: HubSettings,
): Promise<readonly RemoteFile[]> {
  const folders = [...new Set(paths.map((path) => path.split("/").slice(0, -1).join("/")))];
  const all: RemoteFile[] = [];
  for (const path of folders) all.push(...(await listFolder({ repo: name.repo, commit, kind, path }, settings)));
  return paths.map((path) => {
    const file = all.find((each) => each.path === path);
    if (file !== undefined) return file;
    throw new ModelError(`${path} in ${kind} ${formatHubName(name)}`, undefined, {
      expected: `a file of commit ${commit.slice(0, 12)}`,
      hint: `It has ${all.map((each) => each.path).join(", ") || "no files there"}.`,
    });
  });
}
