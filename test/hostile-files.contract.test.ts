import { execFileSync } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, gzipSync } from "node:zlib";
import { beforeEach, expect, test, vi } from "vitest";
import { conversationFormats } from "../extensions/formats/conversations/formats.ts";
import { loadModel } from "../extensions/local/model/model-folder.ts";
import { readSafetensors } from "../extensions/local/model/safetensors.ts";
import { readLocalSearch } from "../extensions/tools/search/local.ts";
import { readRecordedSearch } from "../research/benchmarks/web/recorded.ts";
import { compileTemplate } from "../src/chat/template.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { host } from "../src/core/host.ts";
import { loadConfigFile } from "../src/training/config/config-file.ts";
import { readConversations } from "../src/training/supervised/conversations.ts";
import { addConversationFormats } from "../src/training/supervised/formats.ts";
import { writeTinyModel } from "./tiny-model.ts";

addConversationFormats(conversationFormats);

/** Files that would never end, or fill the memory: each is refused by an error of the package that says why. */
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retrograde-hostile-"));
});
const at = (name: string) => join(folder, name);

function pipe(name: string): string {
  rmSync(at(name), { force: true });
  execFileSync("mkfifo", [at(name)]);
  return at(name);
}

test.skipIf(process.platform === "win32")("a pipe is no configuration, no model and no data", async () => {
  await expect(loadConfigFile(pipe("retrograde.config.mjs"))).rejects.toThrow(/is a pipe, not a file/);
  await expect(readSafetensors(pipe("model.safetensors"))).rejects.toThrow(/is a pipe, not a file/);
  expect(() => readConversations(pipe("data.jsonl"))).toThrow(/is a pipe, not a file/);
  await expect(readLocalSearch(pipe("corpus.jsonl"))).rejects.toThrow(/is a pipe, not a file/);
  await writeTinyModel(at("model"));
  pipe("model/tokenizer.json");
  await expect(loadModel(at("model"))).rejects.toThrow(/tokenizer\.json is "not readable \(.*is a pipe/);
  expect(() => loadTokenizer(at("model"))).toThrow(/is a pipe, not a file/);
  pipe("model/config.json");
  await expect(loadModel(at("model"))).rejects.toThrow(/config\.json is "not readable \(.*is a pipe/);
});

test("a giant tokenizer and a giant header are refused before they are read", async () => {
  await writeTinyModel(at("model"));
  truncateSync(at("model/tokenizer.json"), 2 ** 33); // of zeros that take no room on the disk
  expect(() => loadTokenizer(at("model"))).toThrow(/has 8589934592 bytes, more than/);
  await expect(loadModel(at("model"))).rejects.toThrow(/has 8589934592 bytes, more than/);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(2n ** 30n);
  writeFileSync(at("giant.safetensors"), length);
  truncateSync(at("giant.safetensors"), 2 ** 31);
  await expect(readSafetensors(at("giant.safetensors"))).rejects.toThrow(/header length .* 1073741824; expected at most/);
});

test("a few kilobytes of gzip that unpack to a gigabyte end no search", async () => {
  const zeros = Buffer.alloc(2 ** 20);
  const chunks = function* () {
    for (let i = 0; i < 300; i++) yield zeros;
  };
  await pipeline(Readable.from(chunks()), createGzip({ level: 1 }), createWriteStream(at("bomb.jsonl.gz")));
  await expect(readLocalSearch(at("bomb.jsonl.gz"))).rejects.toThrow(/unpacks to more than|a line has more than/);
  const text = '{"text":"words of a passage"}\n';
  writeFileSync(at("repeated.jsonl.gz"), gzipSync(text.repeat(4_000_000)));
  await expect(readLocalSearch(at("repeated.jsonl.gz"))).rejects.toThrow(/unpacks to more than/);
  await pipeline(Readable.from(chunks()), createGzip({ level: 1 }), createWriteStream(at("bomb.json.gz")));
  await expect(readRecordedSearch(at("bomb.json.gz"))).rejects.toThrow(/unpacks to more than/);
  mkdirSync(at("whole"));
  writeFileSync(at("whole/corpus.jsonl.gz"), gzipSync('{"text":"tea"}\r\n\n{"text":"two \\u2028 lines"}'));
  expect((await readLocalSearch(at("whole/corpus.jsonl.gz"))).name).toBe("local");
});

test("a chat template has a time, and its ranges an end", () => {
  const interrupt = host.interruptAfter;
  const render = (source: string) => compileTemplate(source, {})([], [], true);
  expect(() => render("{% for i in range(1000000000) %}{% endfor %}")).toThrow(/range\(\) of 1000000000 numbers/);
  expect(() => render("{% for i in range(0, 1000000000, 0) %}{% endfor %}")).toThrow(/range\(\) of Infinity numbers/);
  expect(() => render("x".repeat(2 ** 20 + 1))).toThrow(/characters, more than/);
  const endless = compileTemplate("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", {});
  vi.spyOn(host, "interruptAfter").mockImplementationOnce((limit, work) => interrupt(Math.ceil(limit / 100), work));
  expect(() => endless([], [], true)).toThrow(/no end within 60000 ms/);
  const ranges =
    "{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(7, 1, -2) %}{{ i }}{% endfor %}{{ range(2, 2) | length }}";
  expect(render(ranges)).toBe("0127530");
});
