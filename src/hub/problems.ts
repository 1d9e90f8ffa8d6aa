import { ConfigError, ModelError, type RetrogradeError } from "../core/errors.ts";
import { formatHubName, type HubName, type RepoKind } from "./name.ts";
import type { HubSettings } from "./settings.ts";

/** No answer, or none that makes sense: worth another attempt. */
export class Unreachable extends Error {}

/** The Hub answered, and the answer is no. */
export class Refused extends Error {
  readonly status: number;
  /** The Hub's own word for it, such as `GatedRepo`; empty if it gave none. */
  readonly code: string;

  constructor(status: number, code: string, text: string) {
    super(`${status} ${code || text}`.trim());
    this.status = status;
    this.code = code;
  }
}

/** Overload and faults of a server pass; a refusal does not. */
export function isPassing(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof Refused && (error.status >= 500 || error.status === 429));
}

/** Explains what the user can do about a failed look-up or download. Anything unknown is given back as it is. */
export function explain(
  error: unknown,
  name: HubName,
  { endpoint, token, offline }: HubSettings,
  kind: RepoKind = "model",
): unknown {
  const shown = formatHubName(name);
  if (isPassing(error) || offline) {
    const problem = offline ? "not in the cache, and HF_HUB_OFFLINE is set" : `not available: ${messageOf(error)}`;
    return new ModelError(`${kind} ${shown} from ${endpoint}`, problem, {
      hint:
        `${offline ? "Unset HF_HUB_OFFLINE" : `${remedy(error, token)} (a download continues where it stopped)`}, ` +
        `or give ${local[kind]} on this machine. HF_ENDPOINT names another server, HF_HUB_CACHE another cache.`,
      cause: error,
    });
  }
  return error instanceof Refused ? refusal(error, name, kind, endpoint, token !== undefined) : error;
}

/** Returns what may help against a problem that passes. */
function remedy(error: unknown, token: string | undefined): string {
  if (!(error instanceof Refused)) return "Connect to the network and try again";
  if (error.status !== 429) return "The server has a problem: try again later";
  return `The server limits how often it is asked: try again in some minutes${token === undefined ? ", with a token in HF_TOKEN if you have one" : ""}`;
}

const local: Readonly<Record<RepoKind, string>> = { model: "the folder of a model", dataset: "a folder with its files" };

function refusal({ status, code }: Refused, name: HubName, kind: RepoKind, endpoint: string, hasToken: boolean): RetrogradeError {
  const shown = formatHubName(name);
  const page = `${endpoint}/${kind === "model" ? "" : "datasets/"}${name.repo}`;
  if (code === "RevisionNotFound")
    return new ConfigError(kind, shown, {
      expected: `a branch, a tag or a commit of ${name.repo} after the @`,
      hint: `${page}/commits lists its commits.`,
    });
  if (code === "GatedRepo" || status === 403)
    return new ConfigError(kind, shown, {
      expected: `a ${kind} that this machine may download`,
      hint:
        `Accept its terms at ${page}, and ` +
        (hasToken ? "give the token in HF_TOKEN the right to read it." : "put a token of your account into HF_TOKEN."),
    });
  if (status === 401 || status === 404)
    return new ConfigError(kind, shown, {
      expected: `a folder on this machine, or a ${kind} at ${endpoint}`,
      hint:
        `There is no such folder, and no such ${kind} that ${hasToken ? "the token in HF_TOKEN can see" : "is public"}: ` +
        `check the spelling${hasToken ? "" : `; for a private ${kind} put a token into HF_TOKEN`}.`,
    });
  return new ModelError(`${kind} ${shown}`, `refused with status ${status}`, { hint: `Is ${endpoint} a Hugging Face Hub?` });
}

/** Returns the own message of an error of ours, and the deepest of any other: `fetch` itself only says that it failed. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Unreachable || error instanceof Refused) return error.message;
  if (error.cause instanceof Error) return messageOf(error.cause);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return error.message || code || error.name;
}
