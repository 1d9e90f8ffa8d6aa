import { z } from "zod";
import { jsonOf } from "../../../src/core/json.ts";
import { TinkerError } from "./errors.ts";

/** The credential that a server is sent in X-API-Key: the key itself, or a short-lived token that the key is traded for. */
export class Credential {
  readonly #key: string | undefined;
  #exchange: (() => Promise<string>) | undefined;
  #token: { readonly text: string; readonly until: number } | undefined;
  #pending: Promise<string> | undefined;

  /** @throws TinkerError for a key that no header can hold */
  constructor(key: string | undefined) {
    if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
      const expected = "printable characters without spaces";
      throw new TinkerError("apiKey", "[hidden]", { kind: "key", retry: "never", expected });
    }
    this.#key = key;
  }

  /** From now on the key is traded for tokens. @param exchange returns one, a JSON Web Token */
  useTokens(exchange: () => Promise<string>): void {
    this.#exchange = exchange;
  }

  /** @param exchanging true for the exchange itself, which is sent with the key */
  async value(exchanging: boolean): Promise<string | undefined> {
    if (exchanging || this.#exchange === undefined) return this.#key;
    if (this.#token !== undefined && Date.now() < this.#token.until) return this.#token.text;
    this.#pending ??= this.#renew(this.#exchange).finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Text without the key and without the token. */
  redact(text: string): string {
    const secrets = [this.#key, this.#token?.text].filter((secret) => secret !== undefined && secret !== "");
    return secrets.reduce<string>((clean, secret) => clean.replaceAll(secret as string, "[key]"), text);
  }

  async #renew(exchange: () => Promise<string>): Promise<string> {
    const text = await exchange();
    this.#token = { text, until: Date.now() + lifetimeMs(text) / 2 };
    return text;
  }
}

const claimsSchema = z.looseObject({ iat: z.number(), exp: z.number() });

/** By the token's own claims, so that the clocks need not agree. A token that says nothing is renewed every minute. */
function lifetimeMs(token: string): number {
  const said = Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8");
  const { data } = claimsSchema.safeParse(jsonOf(said));
  return data === undefined ? 120_000 : Math.max(0, data.exp - data.iat) * 1000;
}
