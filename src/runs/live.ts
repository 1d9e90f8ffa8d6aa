import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { withoutSecrets } from "../core/secrets.ts";
import { isAlive } from "../files/lock.ts";
import { appendRecord, largestRecord, readRunFile } from "./files.ts";
import { layout } from "./layout.ts";
import { readLines } from "./read.ts";
import { schemaVersion, versionSchema } from "./schema.ts";

/** `live.json`: what a run's process is doing now. */
const liveSchema = z.object({
  schema: versionSchema,
  pid: z.int(),
  host: z.string(),
  /** The step that is being made; 0 for the evaluation at the start. */
  step: z.int(),
  phase: z.string(),
  done: z.number(),
  total: z.number(),
  /** Sampled in this phase. */
  tokens: z.number(),
  /** ISO 8601. */
  at: z.string(),
});
export type LiveStatus = z.infer<typeof liveSchema>;

/** One line of `messages.jsonl`. */
export const runMessageSchema = z.object({
  schema: versionSchema,
  level: z.enum(["notice", "warning"]),
  /** The step that was being made. */
  step: z.int(),
  message: z.string(),
  at: z.string(),
});
export type RunMessage = z.infer<typeof runMessageSchema>;

/** Writes without flushing: after a crash of the machine nobody reads it. */
export function writeLive(folder: string, live: Omit<LiveStatus, "schema" | "pid" | "host" | "at">): void {
  const path = layout.live(folder);
  const unfinished = join(dirname(path), ".live.json.unfinished");
  const content: LiveStatus = {
    schema: schemaVersion,
    pid: process.pid,
    host: hostname(),
    ...live,
    at: new Date().toISOString(),
  };
  mkdirSync(dirname(path), { recursive: true });
  rmSync(unfinished, { recursive: true, force: true });
  writeFileSync(unfinished, `${JSON.stringify(content)}\n`, { flag: "wx" });
  renameSync(unfinished, path);
}

export function removeLive(folder: string): void {
  rmSync(layout.live(folder), { force: true });
}

/**
 * Reads what a run is doing. Undefined where no process works on it: it has ended, or was killed. The process of another machine counts as
 * alive for a minute after its last word.
 */
export function readLive(folder: string): LiveStatus | undefined {
  const path = layout.live(folder);
  if (!existsSync(path)) return undefined;
  try {
    const live = liveSchema.parse(JSON.parse(readRunFile(path, largestRecord).toString("utf8")));
    const alive = live.host === hostname() ? isAlive(live.pid) : Date.now() - Date.parse(live.at) < 60_000;
    return alive ? live : undefined;
  } catch {
    return undefined; // it was removed, or is of a version that says other things: then nothing is known
  }
}

export function appendMessage(folder: string, message: Omit<RunMessage, "schema" | "at">): void {
  const said = { ...message, message: withoutSecrets(message.message) };
  appendRecord(layout.messages(folder), { schema: schemaVersion, ...said, at: new Date().toISOString() });
}

export function readMessages(folder: string): RunMessage[] {
  return readLines(layout.messages(folder), runMessageSchema);
}
