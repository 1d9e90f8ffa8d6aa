import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { layout } from "./layout.ts";
import { appendMessage, readLive, readMessages, removeLive, writeLive } from "./live.ts";
import { readRun } from "./read.ts";
import { sealed } from "./seal.ts";
import { newRun } from "./store.fixture.ts";
import { keepTokenizer, tokenizerFolder } from "./tokenizer-files.ts";

test("what a newer version wrote is refused by both versions' names, not half understood", () => {
  const folder = newRun();
  const record = JSON.parse(readFileSync(layout.run(folder), "utf8"));
  writeFileSync(layout.run(folder), sealed(JSON.stringify({ ...record, schema: 99, config: "of another shape" })));
  expect(() => readRun(folder)).toThrow(/schema version 99.*up to 2.*Update/s);
});

test("the process that works on a run is seen while it lives, and messages keep their order", () => {
  const folder = newRun();
  expect(readLive(folder)).toBeUndefined();
  writeLive(folder, { step: 3, phase: "rollout", done: 1, total: 4, tokens: 20 });
  expect(readLive(folder)).toMatchObject({ step: 3, phase: "rollout", done: 1 });
  const live = JSON.parse(readFileSync(layout.live(folder), "utf8"));
  writeFileSync(layout.live(folder), JSON.stringify({ ...live, pid: 2 ** 22 + 1 }));
  expect(readLive(folder)).toBeUndefined();
  for (const message of ["one", "two"]) appendMessage(folder, { level: "warning", step: 1, message });
  expect(readMessages(folder).map(({ message }) => message)).toEqual(["one", "two"]);
});

test("what a run does is whole or absent; another machine's process counts as alive for a minute after its last word", () => {
  const folder = newRun();
  writeLive(folder, { step: 3, phase: "rollout", done: 1, total: 4, tokens: 20 });
  const live = JSON.parse(readFileSync(layout.live(folder), "utf8"));
  expect(live).toEqual({
    ...{ schema: 2, pid: process.pid, host: hostname(), step: 3, phase: "rollout", done: 1, total: 4, tokens: 20 },
    at: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect(readLive(folder)).toEqual(live);
  expect(readdirSync(folder)).not.toContain(".live.json.unfinished");
  const elsewhere = (seconds: number) => {
    const at = new Date(Date.now() - 1000 * seconds).toISOString();
    writeFileSync(layout.live(folder), JSON.stringify({ ...live, host: "elsewhere", pid: 2 ** 22 + 1, at }));
    return readLive(folder)?.host;
  };
  expect([elsewhere(50), elsewhere(61)]).toEqual(["elsewhere", undefined]);
  for (const broken of ["{", '{"pid": 1}', JSON.stringify({ ...live, step: "3" })]) {
    writeFileSync(layout.live(folder), broken);
    expect(readLive(folder)).toBeUndefined();
  }
  const deep = join(folder, "a/b");
  writeLive(deep, { step: 1, phase: "rollout", done: 0, total: 1, tokens: 0 });
  expect(readLive(deep)?.step).toBe(1);
  removeLive(folder);
  removeLive(folder);
  expect(existsSync(layout.live(folder))).toBe(false);
});

test("a message has its level, its step and its time, and no key", () => {
  const folder = newRun();
  appendMessage(folder, { level: "notice", step: 2, message: "see https://user:secret@example.org/x" });
  const [message] = readMessages(folder);
  expect(message).toEqual({ schema: 2, level: "notice", step: 2, message: expect.any(String), at: expect.stringMatching(/Z$/) });
  expect(message?.message).toContain("example.org/x");
  expect(message?.message).not.toContain("secret");
});

test("a tokenizer is kept once, with checksums; a run without its own has its model's, and a damaged one is named", async () => {
  const source = mkdtempSync(join(tmpdir(), "retrograde-model-"));
  const kept = ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"];
  const more = ["generation_config.json", "chat_template.jinja", "chat_template.json"];
  mkdirSync(join(source, "additional_chat_templates"));
  for (const name of [...kept, ...more, "additional_chat_templates/tool_use.jinja", "model.safetensors"])
    writeFileSync(join(source, name), name);
  const folder = newRun();
  expect(tokenizerFolder(folder)).toBeUndefined();
  mkdirSync(layout.model(folder));
  writeFileSync(join(layout.model(folder), "tokenizer.json"), "");
  expect(tokenizerFolder(folder)).toBe(layout.model(folder));
  await keepTokenizer(folder, source);
  expect(tokenizerFolder(folder)).toBe(layout.tokenizer(folder));
  expect(readdirSync(layout.tokenizer(folder)).toSorted()).toEqual(
    [...kept, ...more, "additional_chat_templates", "checksums.json"].toSorted(),
  );
  expect(readFileSync(join(layout.tokenizer(folder), "additional_chat_templates/tool_use.jinja"), "utf8")).toMatch(/tool_use/);
  writeFileSync(join(source, "tokenizer.json"), "another");
  await keepTokenizer(folder, source);
  expect(readFileSync(join(layout.tokenizer(folder), "tokenizer.json"), "utf8")).toBe("tokenizer.json");
  writeFileSync(join(layout.tokenizer(folder), "tokenizer.json"), "tokenizer.JSON");
  expect(() => tokenizerFolder(folder)).toThrow(/tokenizer is "unreadable \(tokenizer\.json has another checksum/);
});
