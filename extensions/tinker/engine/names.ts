import { randomUUID } from "node:crypto";

/** Names of checkpoints are used once on a server, which may be older than this process. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 8)}`;
}
