import { mkdtempSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hubSettings } from "./settings.ts";

test("the cache is where Hugging Face's tools have theirs", () => {
  const at = (env: NodeJS.ProcessEnv) => hubSettings(env).cacheFolder;
  expect(at({})).toBe(join(homedir(), ".cache/huggingface/hub"));
  expect(at({ XDG_CACHE_HOME: "/x" })).toBe("/x/huggingface/hub");
  expect(at({ XDG_CACHE_HOME: "/x", HF_HOME: "/y" })).toBe("/y/hub");
  expect(at({ HF_HOME: "/y", HF_HUB_CACHE: "/z" })).toBe("/z");
  expect(at({ HF_HOME: "", HF_HUB_CACHE: "" })).toBe(join(homedir(), ".cache/huggingface/hub"));
});

test("HF_TOKEN goes before the token that a login left", () => {
  const home = mkdtempSync(join(tmpdir(), "retrograde-token-"));
  expect(hubSettings({ HF_HOME: home }).token).toBeUndefined();
  writeFileSync(join(home, "token"), "stored\n");
  expect(hubSettings({ HF_HOME: home }).token).toBe("stored");
  expect(hubSettings({ HF_HOME: home, HF_TOKEN: " given " }).token).toBe("given");
});

test("a token that no header can carry is refused without being shown", () => {
  const read = () => hubSettings({ HF_TOKEN: "hf_sec\nret" });
  expect(read).toThrow("HF_TOKEN");
  expect(read).not.toThrow(/sec/);
});

test("offline, endpoint and times are read, and refused by name where they are wrong", () => {
  expect(hubSettings({ HF_HUB_OFFLINE: "TRUE" }).offline).toBe(true);
  expect(hubSettings({ HF_HUB_OFFLINE: "0" }).offline).toBe(false);
  expect(hubSettings({ HF_ENDPOINT: "https://mirror.example/" }).endpoint).toBe("https://mirror.example");
  expect(hubSettings({ HF_HUB_ETAG_TIMEOUT: "3" })).toMatchObject({ answerTimeoutMs: 3000, dataTimeoutMs: 10_000 });
  expect(() => hubSettings({ HF_ENDPOINT: "mirror" })).toThrow('HF_ENDPOINT is "mirror"; expected an http or https address');
  for (const scheme of ["httpsx", "xhttp", "ftp"])
    expect(() => hubSettings({ HF_ENDPOINT: `${scheme}://mirror.example` })).toThrow("an http or https address");
  expect(() => hubSettings({ HF_HUB_DOWNLOAD_TIMEOUT: "soon" })).toThrow("HF_HUB_DOWNLOAD_TIMEOUT");
});
