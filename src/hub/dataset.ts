import { existsSync } from "node:fs";
import { join } from "node:path";
import { ModelError } from "../core/errors.ts";
import { repoCache } from "./cache.ts";
import { listFolder, type RemoteFile } from "./client.ts";
import { fetchCommit, fetchFile, type HubEvent } from "./fetch.ts";
import { formatHubName, type HubName, type RepoKind } from "./name.ts";
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
  const source = { name, kind, cache, settings, onEvent };
  const isThere = (snapshot: string) => paths.every((path) => existsSync(join(snapshot, path)));
  const commit = await fetchCommit(source, isThere, async (commit) => {
    const files = await listed(kind, name, commit, paths, settings);
    const total = files.reduce((sum, { size }) => sum + size, 0);
    let before = 0;
    for (const file of files) {
      await fetchFile(source, commit, file, (bytes) => onEvent({ type: "progress", done: before + bytes, total }));
      before += file.size;
    }
  });
  return { commit, files: paths.map((path) => ({ path, file: join(cache.snapshot(commit), path) })) };
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
