import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { z } from "zod";
import { ConfigError, EnvError } from "../../../src/core/errors.ts";
import type { BenchmarkName } from "../table.ts";
import { type Digest, sources } from "./sources.ts";

/** Where a downloaded file of questions is from, as the file beside it says. */
const originSchema = z.object({
  benchmark: z.string(),
  source: z.enum(["arpo", "hub"]),
  address: z.string(),
  /** The commit. */
  revision: z.string(),
  /** SHA-256 of the published files. */
  files: z.record(z.string(), z.string()),
  questions: z.int(),
  /** The SHA-256 of the stored file. */
  sha256: z.string(),
});
export type Origin = z.infer<typeof originSchema>;

export function originFile(file: string): string {
  return file.replace(/\.jsonl$/, ".source.json");
}

export function digestOf(bytes: Uint8Array, algorithm: Digest["algorithm"] = "sha256"): string {
  return algorithm === "sha256"
    ? createHash("sha256").update(bytes).digest("hex")
    : createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/**
 * Checks that a file has the questions of a benchmark: that of ARPO's evaluation, or one that was downloaded from the Hub at the pinned revision.
 * @returns which of the two
 * @throws EnvError naming the file's SHA-256 if it is of another version
 */
export function verifyQuestions(name: BenchmarkName, path: string): "arpo" | Origin {
  const stored = readFileSync(path);
  const bytes = path.endsWith(".gz") ? gunzipSync(stored) : stored;
  const digest = digestOf(bytes);
  const source = sources[name];
  const arpo = "digest" in source ? source.digest : ({ algorithm: "sha256", hex: source.known } as const);
  if (digestOf(bytes, arpo.algorithm) === arpo.hex) return "arpo";
  const origin = readOrigin(path);
  if (origin?.benchmark === name && origin.sha256 === digest) return origin;
  const known = [arpo.hex, origin?.sha256].filter((each) => each !== undefined);
  throw new EnvError(`SHA-256 of ${path}`, digest, {
    expected: `${known.join(" or ")}, a known file of ${name}`,
    hint:
      "It is a file of another version, or was changed: scores would not be comparable. " +
      `\`npm run research -- data ${name}\` downloads the right one; anyVersion (--any-version) reads this one anyway.`,
  });
}

function readOrigin(path: string): Origin | undefined {
  const beside = originFile(path);
  if (beside === path || !existsSync(beside)) return undefined;
  try {
    return originSchema.parse(JSON.parse(readFileSync(beside, "utf8")));
  } catch (cause) {
    throw new ConfigError("origin of the questions", beside, {
      expected: "the file that `npm run research -- data` writes beside them",
      hint: "Download them again.",
      cause,
    });
  }
}
