import { readdirSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { createRepo, uploadFiles } from "@huggingface/hub";
import { ConfigError, ModelError, reasonOf } from "../../src/core/errors.ts";
import { hubFetch } from "../../src/hub/client.ts";
import { parseHubName } from "../../src/hub/name.ts";
import { messageOf, Refused } from "../../src/hub/problems.ts";
import { type HubSettings, hubSettings } from "../../src/hub/settings.ts";

/** An upload that is slower counts as stalled. */
const slowestBytesPerSecond = 100_000;

/**
 * Puts a folder's files into a model repository of the Hub, as one commit; a repository that is not there is made, private unless said otherwise.
 * @param folder as `retrograde-rl export` writes it
 * @param name `owner/name`
 * @returns the repository's page
 * @throws ConfigError for an invalid folder, name or token; ModelError if the Hub cannot be reached or refuses
 */
export async function pushFolder(
  folder: string,
  name: string,
  { visibility, settings = hubSettings() }: { readonly visibility: "private" | "public"; readonly settings?: HubSettings },
): Promise<string> {
  const { endpoint: hubUrl, token, offline } = settings;
  const parsed = parseHubName(name);
  if (parsed === undefined || parsed.revision !== undefined)
    throw new ConfigError("repository", name, { expected: "owner/name, without a revision" });
  const files = filesOf(folder);
  if (offline) throw new ConfigError("HF_HUB_OFFLINE", "set", { expected: "none, to push to the Hub" });
  if (token === undefined)
    throw new ConfigError("HF_TOKEN", undefined, {
      expected: "a token that may write",
      hint: `${hubUrl}/settings/tokens makes one.`,
    });
  const repo = { type: "model" as const, name };
  const access = { hubUrl, accessToken: token };
  try {
    await createRepo({ ...access, repo, visibility, fetch: hubFetch(settings) }).catch((error: unknown) => {
      const exists = error instanceof Refused && error.status === 409;
      if (!exists) throw error;
    });
    const size = files.reduce((sum, file) => sum + statSync(file).size, 0);
    const answerTimeoutMs = settings.answerTimeoutMs + (1000 * size) / slowestBytesPerSecond;
    await uploadFiles({
      ...{ ...access, repo, commitTitle: "Upload a model by Retrograde", useXet: false, useWebWorkers: false },
      files: files.map((file) => ({ path: relative(folder, file).split(sep).join("/"), content: pathToFileURL(file) })),
      fetch: hubFetch({ ...settings, answerTimeoutMs }),
    });
  } catch (error) {
    throw problem(error, name, hubUrl);
  }
  return `${hubUrl}/${name}`;
}

function filesOf(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    if (files.some((file) => relative(folder, file) === "config.json" || file.endsWith(".gguf"))) return files;
  } catch (cause) {
    throw new ConfigError("folder", folder, { expected: "the folder of a model", hint: reasonOf(cause), cause });
  }
  throw new ConfigError("folder", folder, {
    expected: "the folder of a model (config.json), or one with a GGUF file",
    hint: "`retrograde-rl export RUN --to hf --out FOLDER` writes one.",
  });
}

function problem(error: unknown, name: string, endpoint: string): unknown {
  if (error instanceof Refused && [401, 403].includes(error.status))
    return new ConfigError("HF_TOKEN", `refused (${error.message})`, {
      expected: `a token that may write to ${name}`,
      hint: `${endpoint}/settings/tokens makes one.`,
      cause: error,
    });
  return new ModelError(`${name} at ${endpoint}`, `not pushed: ${messageOf(error)}`, {
    hint: "Files that arrived are not sent again: push once more.",
    cause: error,
  });
}
