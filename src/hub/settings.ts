import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ConfigError } from "../core/errors.ts";

/** The settings of the Hub in the environment, under the names that Hugging Face's own tools read. */
export interface HubSettings {
  /** Without a slash at its end. */
  readonly endpoint: string;
  /** Sent to the endpoint alone, and never shown. */
  readonly token: string | undefined;
  /** Only the cache may be used. */
  readonly offline: boolean;
  readonly cacheFolder: string;
  /** For the first byte of an answer. */
  readonly answerTimeoutMs: number;
  /** For the next bytes of a file. */
  readonly dataTimeoutMs: number;
}

const seconds = z.coerce.number().positive();
/** The values that `huggingface_hub` takes for true. */
const yes = ["1", "on", "yes", "true"];

/**
 * @param env HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, HF_HUB_ETAG_TIMEOUT and
 *   HF_HUB_DOWNLOAD_TIMEOUT (seconds, 10 as in `huggingface_hub`); those that are empty count as not set
 * @throws ConfigError naming the variable that is wrong
 */
export function hubSettings(env: NodeJS.ProcessEnv = process.env): HubSettings {
  const read = <T>(name: string, schema: z.ZodType<T>, fallback: string, expected: string): T => {
    const result = schema.safeParse(env[name] || fallback);
    if (result.success) return result.data;
    throw new ConfigError(name, env[name], { expected, hint: "It is an environment variable." });
  };
  const home = env.HF_HOME || join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "huggingface");
  const url = z.url({ protocol: /^https?$/ });
  return {
    endpoint: read("HF_ENDPOINT", url, "https://huggingface.co", "an http or https address").replace(/\/+$/, ""),
    token: checkedToken(env.HF_TOKEN?.trim() || storedToken(env.HF_TOKEN_PATH || join(home, "token"))),
    offline: yes.includes((env.HF_HUB_OFFLINE ?? "").toLowerCase()),
    cacheFolder: env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE || join(home, "hub"),
    answerTimeoutMs: 1000 * read("HF_HUB_ETAG_TIMEOUT", seconds, "10", "a number of seconds"),
    dataTimeoutMs: 1000 * read("HF_HUB_DOWNLOAD_TIMEOUT", seconds, "10", "a number of seconds"),
  };
}

/** Where `hf auth login` keeps it. */
function storedToken(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8").trim() || undefined : undefined;
}

/** Refuses a token that a header cannot carry: the error that says so would repeat it in full. */
function checkedToken(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return token;
  throw new ConfigError("HF_TOKEN", "(not shown)", { expected: "one word of letters, digits and signs, such as hf_…" });
}
