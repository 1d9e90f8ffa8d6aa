import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { HttpError } from "../../extensions/http/http-error.ts";

/** How long an address of a file holds, in milliseconds. */
const validMs = 3_600_000;

/** Addresses of files that need no key, because they are signed: `/api/v1/external_files/EXPIRES/SIGNATURE/MODEL/NAME/FILE`. */
export class SignedFiles {
  static readonly route = "/api/v1/external_files/";
  readonly #secret = randomBytes(32);

  /** @param file its parts: model, name of the checkpoint, name of the file */
  sign(host: string, file: readonly string[], now = Date.now()): { readonly url: string; readonly expires: Date } {
    const expires = new Date(now + validMs);
    const parts = [String(expires.getTime()), this.#signature(expires.getTime(), file), ...file];
    return { url: `http://${host}${SignedFiles.route}${parts.map(encodeURIComponent).join("/")}`, expires };
  }

  /** @throws HttpError (403) for an address that was not signed here, or is too old */
  check(expires: string, signature: string, file: readonly string[]): void {
    const [given, own] = [Buffer.from(signature), Buffer.from(this.#signature(Number(expires), file))];
    if (given.length !== own.length || !timingSafeEqual(given, own) || Number(expires) < Date.now())
      throw new HttpError(403, "address of a file", "not signed, or expired", { expected: "one of external_weights_urls" });
  }

  #signature(expires: number, file: readonly string[]): string {
    return createHmac("sha256", this.#secret)
      .update(JSON.stringify([expires, file]))
      .digest("hex");
  }
}
