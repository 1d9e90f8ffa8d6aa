import { redact } from "../../../extensions/tools/redact.ts";
import { pause } from "../../../src/core/deadline.ts";
import { ToolError } from "../../../src/core/errors.ts";
import { retryAfterMs } from "../../../src/core/retry-after.ts";
import { fetchPatiently, mayPass, type Outcome, type RepeatPolicy, type Verdict } from "../../../src/http/client.ts";

export interface SenderLimits extends Omit<RepeatPolicy, "maxBytes"> {
  readonly requestsPerSecond: number;
}

const maxBytes = 5 * 2 ** 20;

/** Sends one service's requests. Answers with the parsed JSON. */
export type Send = (url: URL, init: RequestInit, signal?: AbortSignal) => Promise<unknown>;

/**
 * One service's requests: spaced in time, tried again, ended in time.
 * @param secrets replaced in every message, wherever they come from
 */
export function createSender(service: string, secrets: readonly string[], limits: SenderLimits): Send {
  const failed = (value: string, expected: string, hint?: string) =>
    new ToolError(service, redact(value, secrets), { expected, hint: hint && redact(hint, secrets) });
  let nextStart = 0;

  const turn = async (signal: AbortSignal | undefined) => {
    const now = Date.now();
    const start = Math.max(now, nextStart);
    nextStart = start + 1000 / limits.requestsPerSecond;
    if (start > now) await pause(start - now, signal);
  };

  const judge = (outcome: Outcome): Verdict<unknown> => {
    if ("failure" in outcome) {
      const { failure, reason } = outcome;
      if (failure === "too large")
        return { error: new ToolError("the answer", failure, { expected: `at most ${maxBytes} bytes` }), again: false };
      if (failure === "late") return { error: failed("silent", `an answer within ${limits.timeoutMs} ms`), again: true };
      return { error: failed("out of reach", "an answer", reason), again: true };
    }
    const { response, text } = outcome;
    if (response.ok) return parsed(text, failed);
    const again = mayPass(response.status);
    // The service asked for a pause: it is one for all requests.
    if (again) nextStart = Math.max(nextStart, Date.now() + (retryAfterMs(response.headers) ?? 0));
    const hint = again ? undefined : text.replace(/\s+/g, " ").slice(0, 200);
    return { error: failed(`answering ${response.status} ${response.statusText}`.trim(), "results", hint), again };
  };

  return (url, init, signal) =>
    fetchPatiently(url, { ...init, redirect: "error" }, { ...limits, maxBytes }, judge, { signal, before: () => turn(signal) });
}

function parsed(text: string, failed: (value: string, expected: string) => ToolError): Verdict<unknown> {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { error: failed(`answering ${JSON.stringify(text.slice(0, 100))}`, "JSON"), again: false };
  }
}
