import { z } from "zod";
import { ConfigError } from "../../../src/core/errors.ts";
import { type HttpLimits, httpDefaults } from "../../http/server.ts";

export const count = (least: number) => z.coerce.number().int().min(least);

/** Flags of every server, checked. @param maxBody in MiB */
export const listeningFlags = (port: number, maxBody: number) => ({
  host: z.string().default("127.0.0.1"),
  port: count(0).max(65_535).default(port),
  key: z.array(z.string().min(1)).default([]),
  maxBody: count(1).default(maxBody),
  maxConnections: count(1).default(httpDefaults.connections),
  requestTimeout: count(1).default(httpDefaults.requestMs / 1000),
});

/** @throws ConfigError naming the flag that is wrong */
export function parsedFlags<T extends z.ZodType>(schema: T, flags: unknown): z.output<T> {
  const parsed = schema.safeParse(flags);
  if (parsed.success) return parsed.data;
  const [{ path, message } = { path: [], message: "another value" }] = parsed.error.issues;
  throw new ConfigError(`--${String(path[0]).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, undefined, {
    expected: message,
  });
}

type LimitFlags = Readonly<Record<"maxBody" | "maxConnections" | "requestTimeout", number>>;

export function httpLimits({ maxBody, maxConnections, requestTimeout }: LimitFlags): HttpLimits {
  return { maxBytes: maxBody * 2 ** 20, connections: maxConnections, requestMs: requestTimeout * 1000 };
}

/** Environment variable of a key, which is not seen in the list of processes. */
const keyVariable = "RETROGRADE_SERVER_KEY";

/** The keys of the flags and of the environment variable. */
export function keysOf({ key }: { readonly key: readonly string[] }): string[] {
  const own = process.env[keyVariable];
  return own ? [...key, own] : [...key];
}
