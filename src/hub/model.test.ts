import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hubCommit, startHub } from "../../test/hub-server.ts";
import { ConfigError, ModelError } from "../core/errors.ts";
import { fetchModel } from "./model.ts";
import { hubSettings } from "./settings.ts";
import "../../test/loopback.ts";
import { asks, digestOf, setUp, weights, weightsName } from "./model.fixture.ts";

test("a name becomes a folder in the shared cache's layout, with the files that a model needs and no others", async () => {
  const others = { "pytorch_model.bin": "weights once more", "README.md": "words", "consolidated.safetensors": "and once more" };
  const { hub, repo, events, fetch } = await setUp({ files: { ...others, "chat_template.jinja": "{{ messages }}" } });
  const folder = await fetch();

  expect(folder).toBe(join(repo, "snapshots", hubCommit));
  const wanted = ["chat_template.jinja", "config.json", weightsName, "tokenizer.json", "tokenizer_config.json"];
  expect(readdirSync(folder).sort()).toEqual(wanted);
  expect(hub.fetched().sort()).toEqual(wanted);
  expect(readFileSync(join(folder, weightsName)).equals(weights)).toBe(true);
  expect(lstatSync(join(folder, weightsName)).isSymbolicLink()).toBe(true);
  expect(readdirSync(join(repo, "blobs")).filter((name) => name.endsWith(".incomplete"))).toEqual([]);
  expect(readFileSync(join(repo, "refs/main"), "utf8")).toBe(hubCommit);

  const progress = events.filter((event) => event.type === "progress");
  const size = wanted.reduce((sum, name) => sum + readFileSync(join(folder, name)).length, 0);
  expect(progress.at(-1)).toEqual({ type: "progress", done: size, total: size });
  expect(progress.every(({ done, total }, i) => done <= total && done >= (progress[i - 1]?.done ?? 0))).toBe(true);
});

test("a sharded model is fetched as its index says, unless there is one file too", async () => {
  const index = JSON.stringify({ weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" } });
  const shards = { "model-00001-of-00002.safetensors": "first", "model-00002-of-00002.safetensors": "second" };
  const files = { "model.safetensors.index.json": index, ...shards };
  const { hub, fetch } = await setUp({ files, absent: [weightsName] });
  const folder = await fetch();
  for (const [name, text] of Object.entries(shards)) expect(readFileSync(join(folder, name), "utf8")).toBe(text);
  expect(hub.fetched()).not.toContain(weightsName);

  const both = await setUp({ files });
  expect(readdirSync(await both.fetch())).toContain(weightsName);
  expect(both.hub.fetched().filter((name) => name.startsWith("model"))).toEqual([weightsName]);
});

test("what is in the cache is not fetched again; a commit needs no network at all, a branch only the question what it is", async () => {
  const { hub, fetch } = await setUp();
  const folder = await fetch();
  const before = hub.requests.length;
  expect(await fetch(`${hub.repo}@${hubCommit}`)).toBe(folder);
  expect(hub.requests.length).toBe(before);
  expect(await fetch()).toBe(folder);
  expect(hub.requests.slice(before).map(({ path }) => path)).toEqual([`/api/models/${hub.repo}/revision/main`]);
  await expect(fetch(`${hub.repo}@v9`)).rejects.toThrow(/model is "tiny\/letters@v9"; expected a branch, a tag or a commit/);
});

test("a server that stops half way is asked for the rest, and the whole is verified", async () => {
  const third = Math.floor(weights.length / 3);
  const { hub, fetch } = await setUp({
    trouble: ({ path, storage }, number) => (storage && asks(path, weightsName) && number < 3 ? { cutAfter: third } : undefined),
  });
  expect(readFileSync(join(await fetch(), weightsName)).equals(weights)).toBe(true);
  const ranges = hub.requests.filter(({ path, storage }) => storage && asks(path, weightsName)).map(({ range }) => range);
  expect(ranges).toHaveLength(3);
  expect(ranges[0]).toBeUndefined();
  const starts = ranges.slice(1).map((range) => Number(/^bytes=(\d+)-/.exec(range ?? "")?.[1]));
  expect(starts[0]).toBeGreaterThan(0);
  expect(starts[1]).toBeGreaterThan(starts[0]);
});

test("a download that an earlier process left continues where it stopped; one that is too long begins again", async () => {
  for (const [left, range] of [
    [weights.subarray(0, 1000), `bytes=1000-${weights.length - 1}`],
    [Buffer.concat([weights, weights]), undefined],
  ] as const) {
    const { hub, repo, fetch } = await setUp();
    const sha256 = await digestOf(hub, weightsName);
    mkdirSync(join(repo, "blobs"), { recursive: true });
    writeFileSync(join(repo, "blobs", `${sha256}.incomplete`), left);
    expect(readFileSync(join(await fetch(), weightsName)).equals(weights)).toBe(true);
    expect(hub.requests.filter(({ path, storage }) => storage && asks(path, weightsName)).map((each) => each.range)).toEqual([
      range,
    ]);
  }
});

test("a server that cannot continue a file, or a partial file that is damaged, costs a second download and no error", async () => {
  const ignoring = await setUp({
    trouble: ({ path, storage }, number) =>
      storage && asks(path, weightsName) ? (number === 1 ? { cutAfter: 2000 } : "ignore range") : undefined,
  });
  expect(readFileSync(join(await ignoring.fetch(), weightsName)).equals(weights)).toBe(true);

  const { hub, repo, fetch } = await setUp();
  mkdirSync(join(repo, "blobs"), { recursive: true });
  writeFileSync(join(repo, "blobs", `${await digestOf(hub, weightsName)}.incomplete`), "not how it begins");
  expect(readFileSync(join(await fetch(), weightsName)).equals(weights)).toBe(true);
});

test.each([weightsName, "tokenizer.json"])("a corrupt %s is refused with both digests, and nothing of it stays", async (name) => {
  const { hub, repo, fetch } = await setUp({ trouble: ({ path }) => (asks(path, name) ? "corrupt" : undefined) });
  const error = await fetch().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ModelError);
  expect(String(error)).toContain(`of ${name} of tiny/letters`);
  expect(String(error)).toContain(await digestOf(hub, name));
  expect(existsSync(join(repo, "snapshots", hubCommit, name))).toBe(false);
  expect(readdirSync(join(repo, "blobs")).filter((each) => each.startsWith(String(error)))).toEqual([]);
  expect(readdirSync(join(repo, "blobs")).filter((each) => each.endsWith(".incomplete"))).toEqual([]);
});

test("a server that always stops early is given up, and what came is kept for the next time", async () => {
  let generous = false;
  const { repo, fetch } = await setUp({
    trouble: ({ path, storage, range }) => {
      if (!storage || !asks(path, weightsName) || generous) return undefined;
      return { cutAfter: range === undefined ? 500 : 0 };
    },
  });
  await expect(fetch()).rejects.toThrow(/a download continues where it stopped/);
  expect(readdirSync(join(repo, "blobs")).filter((name) => name.endsWith(".incomplete"))).toHaveLength(1);
  generous = true;
  expect(readFileSync(join(await fetch(), weightsName)).equals(weights)).toBe(true);
});

test("a server that says nothing is not waited for, neither before the answer nor within a file", async () => {
  const patience = { HF_HUB_ETAG_TIMEOUT: "0.2", HF_HUB_DOWNLOAD_TIMEOUT: "0.2" };
  const silent = await setUp({ trouble: () => "hang" }, patience);
  await expect(silent.fetch()).rejects.toThrow("nothing came for 0.2 seconds");
  const later = await setUp({ trouble: ({ storage }, number) => (storage && number === 1 ? "hang" : undefined) }, patience);
  expect(readFileSync(join(await later.fetch(), weightsName)).equals(weights)).toBe(true);
});

test("without a network the cache serves, and without a cache one error says what to do", async () => {
  const { hub, events, fetch } = await setUp();
  const nothing = await fetch(hub.repo, { HF_HUB_OFFLINE: "1" }).catch((error: unknown) => error);
  expect(nothing).toBeInstanceOf(ModelError);
  expect(String(nothing)).toMatch(/not in the cache, and HF_HUB_OFFLINE is set.*Unset HF_HUB_OFFLINE, or give the folder/);
  expect(hub.requests).toEqual([]);

  const folder = await fetch();
  const before = hub.requests.length;
  expect(await fetch(hub.repo, { HF_HUB_OFFLINE: "1" })).toBe(folder);
  expect(hub.requests.length).toBe(before);

  hub.close();
  expect(await fetch()).toBe(folder);
  expect(events.at(-1)).toMatchObject({ type: "from-cache" });
  const unknown = await fetch("tiny/other").catch((error: unknown) => error);
  expect(unknown).toBeInstanceOf(ModelError);
  expect(String(unknown)).toMatch(/tiny\/other.*ECONNREFUSED.*Connect to the network/);
});

test("an unknown, a gated and a private model are distinguished", async () => {
  const refusing = (status: number, code?: string) => setUp({ trouble: () => ({ status, code }) });
  for (const [hub, text] of [
    [await refusing(404, "RepoNotFound"), /There is no such folder, and no such model that is public.*for a private model/],
    [await refusing(401, "RepoNotFound"), /There is no such folder, and no such model that is public/],
    [await refusing(401, "GatedRepo"), /Accept its terms at http.*tiny\/letters, and put a token/],
    [await refusing(403, "GatedRepo"), /Accept its terms/],
  ] as const) {
    const error = await hub.fetch().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(text);
    expect(hub.hub.requests).toHaveLength(1); // a refusal is not asked for again
  }
  const seen = await refusing(403, "GatedRepo");
  await expect(seen.fetch(undefined, { HF_TOKEN: "any" })).rejects.toThrow("give the token in HF_TOKEN the right to read it");
  const gatedFiles = await setUp({
    trouble: ({ path }) => (path.includes("/resolve/") ? { status: 403, code: "GatedRepo" } : undefined),
  });
  await expect(gatedFiles.fetch()).rejects.toThrow("Accept its terms");
});

test("a server that is overloaded is no matter of the network", async () => {
  const refusing = async (status: number, env = {}) => {
    const { fetch } = await setUp({ trouble: () => ({ status }) }, env);
    return String(await fetch().catch((error: unknown) => error));
  };
  expect(await refusing(429)).toMatch(
    /not available: 429.*limits how often it is asked: try again in some minutes, with a token/,
  );
  expect(await refusing(429, { HF_TOKEN: "any" })).toMatch(/try again in some minutes \(/);
  expect(await refusing(503)).toMatch(/not available: 503.*The server has a problem: try again later \(a download continues/);
});

test("the token goes to the Hub, not to where large files lie, and into no message", async () => {
  const secret = "hf_secretsecret";
  const { hub, fetch, home } = await setUp();
  writeFileSync(join(home, "token"), `${secret}\n`); // as `hf auth login` leaves it
  await fetch();
  for (const { storage, authorization } of hub.requests) expect(authorization).toBe(storage ? undefined : `Bearer ${secret}`);

  for (const trouble of [{ status: 401 }, { status: 403 }, { status: 404 }, { status: 500 }, "corrupt"] as const) {
    const { fetch } = await setUp({ trouble: () => trouble }, { HF_TOKEN: secret });
    const error = await fetch().catch((thrown: unknown) => thrown);
    expect(`${error} ${JSON.stringify(error)} ${error instanceof Error ? error.stack : ""}`).not.toContain("secret");
  }
});

test("what cannot be used is said before any weights are fetched", async () => {
  const { hub, fetch } = await setUp();
  const inspect = (file: string) => {
    throw new ModelError(`model_type in ${file}`, "mamba");
  };
  await expect(fetch(hub.repo, {}, inspect)).rejects.toThrow("mamba");
  expect(hub.fetched()).toEqual(["config.json"]);
});

test.each([
  ["model.gguf", /model.safetensors in tiny\/letters is missing.*It has GGUF files/],
  ["pytorch_model.bin", /It has PyTorch files/],
  ["adapter_config.json", /It has a LoRA adapter/],
])("a repository with %s instead of safetensors is refused by name", async (name, text) => {
  const bare = mkdtempSync(join(tmpdir(), "retrograde-bare-"));
  for (const file of ["config.json", "tokenizer.json"]) writeFileSync(join(bare, file), "{}");
  writeFileSync(join(bare, name), "x");
  const hub = await startHub(bare, {});
  const settings = hubSettings({ HF_ENDPOINT: hub.endpoint, HF_HOME: mkdtempSync(join(tmpdir(), "retrograde-cache-")) });
  await expect(fetchModel({ repo: hub.repo, revision: undefined }, { settings })).rejects.toThrow(text);
  expect(hub.fetched()).toEqual([]);
});

test("a repository with a model and an adapter, of which transformers loads the adapter, is refused", async () => {
  const { hub, fetch } = await setUp({ files: { "adapter_config.json": "{}" } });
  await expect(fetch()).rejects.toThrow(/adapter_config.json in tiny\/letters is "unexpected".*merge it into its base/);
  expect(hub.fetched()).toEqual([]);
});

test("a disk with too little room is noticed before the weights are asked for", async () => {
  const { hub, fetch } = await setUp({ sizes: { [weightsName]: 1e15 } });
  await expect(fetch()).rejects.toThrow(/free space in .*expected 1000000.0 GB.*HF_HUB_CACHE/);
  expect(hub.fetched()).not.toContain(weightsName);
});
