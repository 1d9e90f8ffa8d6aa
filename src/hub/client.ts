import { datasetInfo, downloadFile, listFiles, modelInfo } from "@huggingface/hub";
import { z } from "zod";
import type { HubName, RepoKind } from "./name.ts";
import { messageOf, Refused, Unreachable } from "./problems.ts";
import type { HubSettings } from "./settings.ts";

/** A file of a commit. */
export interface RemoteFile {
  readonly path: string;
  readonly size: number;
  /** The SHA-256 of what is in large files; git's SHA-1 of others as blobs. Also their names in the cache. */
  readonly digest: { readonly algorithm: "sha256" | "git-sha1"; readonly hex: string };
}

const commitSchema = z.object({ sha: z.string().regex(/^[0-9a-f]{40}$/) });
const sha1 = z.string().regex(/^[0-9a-f]{40}$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const fileSchema = z.object({
  type: z.string(),
  path: z.string(),
  size: z.int().min(0),
  oid: sha1,
  lfs: z.object({ oid: sha256, size: z.int().min(0) }).optional(),
});

/**
 * Returns the commit that a branch or a tag refers to now.
 * @throws Unreachable or Refused
 */
export async function findCommit(
  { repo, revision = "main" }: HubName,
  settings: HubSettings,
  kind: RepoKind = "model",
): Promise<string> {
  const query = {
    name: repo,
    revision,
    additionalFields: ["sha" as const],
    hubUrl: settings.endpoint,
    fetch: hubFetch(settings),
  };
  const answer = kind === "model" ? modelInfo(query) : datasetInfo(query);
  const info = await answer.catch(asUnreachable);
  return understood(commitSchema, info).sha;
}

/** A folder of a repository at one commit. */
export interface RemoteFolder {
  readonly repo: string;
  readonly commit: string;
  readonly kind?: RepoKind;
  /** Default the root. */
  readonly path?: string;
}

/** Lists the files of a folder, those of its folders left out. @throws Unreachable or Refused */
export async function listFolder(
  { repo, commit, kind = "model", path }: RemoteFolder,
  settings: HubSettings,
): Promise<RemoteFile[]> {
  const entries: unknown[] = [];
  const named = { type: kind, name: repo };
  const listed = listFiles({
    repo: named,
    revision: commit,
    ...(path ? { path } : {}),
    hubUrl: settings.endpoint,
    fetch: hubFetch(settings),
  });
  try {
    for await (const entry of listed) if (entry.type === "file") entries.push(entry);
  } catch (cause) {
    asUnreachable(cause);
  }
  return understood(z.array(fileSchema), entries).map(({ path, size, oid, lfs }) => ({
    path,
    size: lfs?.size ?? size,
    digest: lfs === undefined ? { algorithm: "git-sha1", hex: oid } : { algorithm: "sha256", hex: lfs.oid },
  }));
}

/**
 * A file's bytes from a position to its end, as they come.
 * @throws Unreachable where the connection breaks, or nothing comes for too long; Refused, with status 416 also where the server
 *   begins at the file's start although it was asked for a later part
 */
export async function* readRemote(
  { repo, commit, kind = "model" }: Omit<RemoteFolder, "path">,
  file: RemoteFile,
  from: number,
  settings: HubSettings,
): AsyncGenerator<Uint8Array> {
  const stalled = new AbortController();
  const watch = () => setTimeout(() => stalled.abort(), settings.dataTimeoutMs);
  let timer = watch();
  let problem: unknown;
  const fetch = hubFetch(settings, stalled.signal, (response) => {
    if (from > 0 && response.status !== 206) throw new Refused(416, "", "the server cannot continue a file");
  });
  try {
    const blob = await downloadFile({
      ...{ repo: { type: kind, name: repo }, revision: commit, path: file.path, hubUrl: settings.endpoint },
      // Plain HTTP: it can be continued at any byte, and every mirror speaks it.
      xet: false,
      downloadInfo: {
        ...{ size: file.size, etag: file.digest.hex },
        url: `${settings.endpoint}/${kind === "model" ? "" : "datasets/"}${repo}/resolve/${commit}/${file.path.split("/").map(encodeURIComponent).join("/")}`,
      },
      // The stream of the client's blob keeps an error's text alone.
      fetch: (...request) =>
        fetch(...request).catch((error: unknown) => {
          problem = error;
          throw error;
        }),
    });
    for await (const chunk of (blob ?? new Blob([])).slice(from).stream()) {
      clearTimeout(timer);
      yield chunk;
      timer = watch();
    }
  } catch (cause) {
    if (problem !== undefined) throw problem;
    throw new Unreachable(stalled.signal.aborted ? silence(settings.dataTimeoutMs) : messageOf(cause), { cause });
  } finally {
    clearTimeout(timer);
    stalled.abort();
  }
}

/** `fetch` with the token for the endpoint and for no other address, an end to waiting, and errors that say what happened. */
export function hubFetch(
  { endpoint, token, answerTimeoutMs }: HubSettings,
  signal?: AbortSignal,
  check: (response: Response) => void = () => {},
): typeof fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = new Headers(init?.headers);
    headers.set("user-agent", "retrograde-rl");
    if (token !== undefined && url.origin === new URL(endpoint).origin) headers.set("authorization", `Bearer ${token}`);
    const waiting = new AbortController();
    const timer = setTimeout(() => waiting.abort(), answerTimeoutMs);
    const signals = signal === undefined ? [waiting.signal] : [waiting.signal, signal];
    try {
      const response = await fetch(url, { ...init, headers, signal: AbortSignal.any(signals) });
      if (!response.ok) {
        await response.body?.cancel();
        throw new Refused(response.status, response.headers.get("x-error-code") ?? "", response.statusText);
      }
      check(response);
      return response;
    } catch (cause) {
      if (cause instanceof Refused) throw cause;
      throw new Unreachable(waiting.signal.aborted ? silence(answerTimeoutMs) : messageOf(cause), { cause });
    } finally {
      clearTimeout(timer);
    }
  };
}

function silence(milliseconds: number): string {
  return `nothing came for ${milliseconds / 1000} seconds`;
}

/** Throws as Unreachable what the client itself throws beside our own errors: an answer that it could not read. */
function asUnreachable(cause: unknown): never {
  if (cause instanceof Refused || cause instanceof Unreachable) throw cause;
  throw new Unreachable(`an answer that is not the Hub's (${messageOf(cause)})`, { cause });
}

function understood<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Unreachable(`an answer that is not the Hub's (${z.prettifyError(result.error)})`);
}
