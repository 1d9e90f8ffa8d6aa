import { randomBytes } from "node:crypto";

/** A key that nobody can guess, for one conversation with a server of this process. */
export function newKey(): string {
  return `sk-${randomBytes(24).toString("base64url")}`;
}
