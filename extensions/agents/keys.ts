import { randomBytes } from "node:crypto";
import type { InferenceModel } from "../inference/model.ts";
import { type RunningInference, serveInference } from "../inference/server.ts";

/** A key that nobody can guess, for one conversation with a server of this process. */
export function newKey(): string {
  return `sk-${randomBytes(24).toString("base64url")}`;
}

/** Serves models to agents of this machine, each by a key of its own: without one of these keys nobody may ask. */
export function serveByKey(byKey: ReadonlyMap<string, InferenceModel>): Promise<RunningInference> {
  const limits = { maxBytes: 2 ** 26 };
  return serveInference({ host: "127.0.0.1", port: 0, keys: [newKey()], limits, models: new Map(), byKey });
}
