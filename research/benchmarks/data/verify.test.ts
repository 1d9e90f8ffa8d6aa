import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ConfigError } from "../../../src/core/errors.ts";
import { sources } from "./sources.ts";
import { digestOf, originFile, verifyQuestions } from "./verify.ts";

const folder = mkdtempSync(join(tmpdir(), "verify-"));
const text = '{"question":"1 + 1?","answer":"2"}\n';
const sha256 = createHash("sha256").update(text).digest("hex");
const at = (name: string, content: string | Uint8Array = text) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const origin = (more: object = {}) => ({
  ...{ benchmark: "gsm8k", source: "hub", address: "owner/name", revision: "c", files: { a: "b" }, questions: 1, sha256 },
  ...more,
});

test("digests are those of sha256sum and of git", () => {
  expect(digestOf(Buffer.from(""))).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  // git hash-object of an empty file, and of "hello\n".
  expect(digestOf(Buffer.from(""), "git-sha1")).toBe("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  expect(digestOf(Buffer.from("hello\n"), "git-sha1")).toBe("ce013625030ba8dba906f756967f9e9ca394464a");
  expect([originFile("/x/test.jsonl"), originFile("/x/test.jsonl.gz")]).toEqual(["/x/test.source.json", "/x/test.jsonl.gz"]);
});

test("a file of another version is refused with the digests that are known, and what to do", () => {
  const gsm8k = sources.gsm8k;
  if (!("digest" in gsm8k)) throw new Error("gsm8k is ARPO's");
  const known = gsm8k.digest.hex;
  const path = at("other.jsonl");
  const message = (expected: string) =>
    `SHA-256 of ${path} is "${sha256}"; expected ${expected}, a known file of gsm8k. ` +
    "It is a file of another version, or was changed: scores would not be comparable. `npm run research -- data gsm8k` downloads the right one; " +
    "anyVersion (--any-version) reads this one anyway.";
  expect(() => verifyQuestions("gsm8k", path)).toThrow(message(known));
  at("other.source.json", JSON.stringify(origin({ sha256: "0".repeat(64) })));
  expect(() => verifyQuestions("gsm8k", path)).toThrow(message(`${known} or ${"0".repeat(64)}`));
  at("other.source.json", JSON.stringify(origin({ benchmark: "math500" })));
  expect(() => verifyQuestions("gsm8k", path)).toThrow(message(`${known} or ${sha256}`));
});

test("a file that was downloaded is what the file beside it says; packed ones are unpacked first", () => {
  const path = at("own.jsonl");
  at("own.source.json", JSON.stringify(origin()));
  expect(verifyQuestions("gsm8k", path)).toEqual(origin());
  expect(() => verifyQuestions("gsm8k", at("own.jsonl.gz", gzipSync(text)))).toThrow(`is "${sha256}"`);
  at("own.source.json", "{");
  expect(() => verifyQuestions("gsm8k", path)).toThrow(ConfigError);
  expect(() => verifyQuestions("gsm8k", path)).toThrow(
    /origin of the questions is ".*own\.source\.json"; expected the file that `npm run research -- data` writes beside them\. Download them again\./,
  );
  rmSync(join(folder, "own.source.json"));
  expect(() => verifyQuestions("gsm8k", path)).toThrow("SHA-256 of");
});
