import { EnvError } from "../../src/core/errors.ts";
import { fetchPatiently, mayPass } from "../../src/http/client.ts";

/**
 * Downloads one file over plain HTTP, again after faults that may pass.
 * @throws EnvError if the address does not answer, refuses, or sends more than `maxBytes`
 */
export function fetchFile(url: string, maxBytes: number): Promise<Uint8Array> {
  return fetchPatiently<Uint8Array>(url, {}, { timeoutMs: 30_000, maxBytes, retries: 3, retryDelayMs: 500 }, (outcome) => {
    if ("response" in outcome && outcome.response.ok) return { value: outcome.bytes };
    if ("response" in outcome) {
      const { status } = outcome.response;
      const details = { expected: [200], hint: "--from names another source." };
      return { error: new EnvError(`status of ${url}`, status, details), again: mayPass(status) };
    }
    const { failure, reason } = outcome;
    const error =
      failure === "too large"
        ? new EnvError(`size of ${url}`, reason, { expected: `at most ${maxBytes} bytes` })
        : new EnvError(url, reason, { expected: "an answer", hint: "Check the network, or name another source with --from." });
    return { error, again: failure !== "too large" };
  });
}
