import { DeadlineError } from "../../src/core/deadline.ts";
import { EpisodeStop } from "../../src/core/episode-stop.ts";
import { reasonOf } from "../../src/core/errors.ts";

/** Statuses below 500 that say nothing of the request: no right to ask, no such model, too many requests. */
const refusals = [401, 402, 403, 404, 405, 408, 409, 425, 429];

/** True for a status that is the server's fault, or its user's, and not that of what an agent wrote. */
export function isFaultOfServer(status: number): boolean {
  return status >= 500 || refusals.includes(status);
}

const networkCodes = /^(?:ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|EHOST|ENET|UND_ERR_)/;
const networkNames = /^(?:APIConnectionError|APIConnectionTimeoutError)$/;
/** Clients wrap an error in others of their own. */
const depth = 5;

/** True for an error that a server or the network raised in an agent, in the shapes of Node, of `fetch` and of the vendors' SDKs. */
export function isServiceError(thrown: unknown, left = depth): boolean {
  if (typeof thrown !== "object" || thrown === null || left === 0) return false;
  const { code, syscall, status, statusCode, name, message, cause, lastError, errors } = thrown as Record<string, unknown>;
  if (typeof code === "string" && networkCodes.test(code)) return true;
  if (typeof syscall === "string" && syscall.startsWith("spawn")) return true; // the program is not there
  const answered = [status, statusCode].find((value) => typeof value === "number");
  if (typeof answered === "number" && isFaultOfServer(answered)) return true;
  if (typeof name === "string" && networkNames.test(name)) return true;
  if (thrown instanceof TypeError && message === "fetch failed") return true;
  return [cause, lastError, ...(Array.isArray(errors) ? errors : [])].some((inner) => isServiceError(inner, left - 1));
}

/** Runs an agent. @throws EpisodeStop for an error of its own, and what a server, the network or the episode's end raised as it is */
export async function ownErrorsNamed<T>(agent: () => Promise<T>): Promise<T> {
  try {
    return await agent();
  } catch (error) {
    if (error instanceof EpisodeStop || error instanceof DeadlineError || isServiceError(error)) throw error;
    throw new EpisodeStop("agent-error", reasonOf(error));
  }
}
