import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll } from "vitest";
import { type HubOptions, hubCommit, startHub } from "../../test/hub-server.ts";
import { writeTinyModel } from "../../test/tiny-model.ts";
import type { HubEvent } from "./fetch.ts";
import { fetchModel } from "./model.ts";
import { parseHubName } from "./name.ts";
import { hubSettings } from "./settings.ts";

export const source = mkdtempSync(join(tmpdir(), "retrograde-hub-"));
export const weightsName = "model.safetensors";
export let weights: Buffer;

beforeAll(async () => {
  await writeTinyModel(source);
  weights = readFileSync(join(source, weightsName));
});

/** A Hub, an empty cache, and what fetches from the one into the other. */
export async function setUp(options: HubOptions = {}, env: NodeJS.ProcessEnv = {}) {
  const hub = await startHub(source, options);
  const home = mkdtempSync(join(tmpdir(), "retrograde-cache-"));
  const events: HubEvent[] = [];
  const fetch = (text = hub.repo, more: NodeJS.ProcessEnv = {}, inspect?: (file: string) => void) => {
    const name = parseHubName(text);
    if (name === undefined) throw new Error(`${text} is no name`);
    const settings = hubSettings({ HF_ENDPOINT: hub.endpoint, HF_HOME: home, ...env, ...more });
    return fetchModel(name, { settings, inspect, onEvent: (event) => events.push(event) });
  };
  const repo = join(home, "hub", `models--${hub.repo.replace("/", "--")}`);
  return { hub, home, repo, events, fetch };
}

export const asks = (path: string, name: string) => path.includes("/resolve/") && path.endsWith(`/${name}`);

export async function digestOf({ endpoint, repo }: { endpoint: string; repo: string }, name: string): Promise<string> {
  const answer: unknown = await (await fetch(`${endpoint}/api/models/${repo}/tree/${hubCommit}`)).json();
  const file = (answer as { path: string; oid: string; lfs?: { oid: string } }[]).find(({ path }) => path === name);
  return file?.lfs?.oid ?? file?.oid ?? "";
}
