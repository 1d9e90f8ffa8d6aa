import type { Failure } from "./parsed-request.ts";

/** An error of the OpenAI interface: its clients read `error.message`, `type`, `param` and `code`. */
export function openAiError({ status, message, param, code }: Failure): object {
  const type = status >= 500 ? "server_error" : status === 429 ? "rate_limit_error" : "invalid_request_error";
  return { error: { message, type, param, code } };
}
