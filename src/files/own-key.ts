import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { linkSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { readBounded } from "./bounded.ts";
import { makeFolder } from "./folder.ts";

/**
 * A key of this user on this machine. Records that are written here carry a signature by it, so that they are known from records that came from
 * elsewhere, which may not act (docs/runs.md).
 */
function keyFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "retrograde", "key");
}

/**
 * Returns the signature of a record under a name. Undefined if this user can keep no key, as without a home folder: the record then counts as
 * one from elsewhere.
 */
export function signatureOf(path: string, record: object): string | undefined {
  const key = ownKey() ?? makeKey();
  return key && signed(key, path, record);
}

/** True if a record was signed on this machine, by this user. It never makes a key. */
export function isSignedHere(path: string, { origin, ...record }: { readonly origin?: unknown }): boolean {
  const key = ownKey();
  if (key === undefined || typeof origin !== "string") return false;
  const [found, expected] = [Buffer.from(origin), Buffer.from(signed(key, path, record))];
  return found.length === expected.length && timingSafeEqual(found, expected);
}

/** Signs the file's name too: no record passes for one of another kind. */
function signed(key: Buffer, path: string, record: object): string {
  return createHmac("sha256", key)
    .update(`${basename(path)}\n${JSON.stringify(record)}`)
    .digest("hex");
}

function ownKey(): Buffer | undefined {
  try {
    const text = readBounded(keyFile(), 2 ** 10, "refuse").toString("latin1");
    return /^[0-9a-f]{64}$/.test(text) ? Buffer.from(text, "hex") : undefined;
  } catch {
    return undefined; // there is none, or it may not be read
  }
}

/** Two processes may make it at once: the first counts, for both. */
function makeKey(): Buffer | undefined {
  const file = keyFile();
  const draft = `${file}.${process.pid}`;
  try {
    makeFolder(dirname(file));
    try {
      writeFileSync(draft, randomBytes(32).toString("hex"), { flag: "wx", mode: 0o600 });
      linkSync(draft, file);
    } finally {
      rmSync(draft, { force: true });
    }
  } catch {
    // It is there by now, or cannot be.
  }
  return ownKey();
}
