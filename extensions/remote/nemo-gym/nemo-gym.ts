import { z } from "zod";
import { ConfigError } from "../../../src/core/errors.ts";
import type { Message, ToolCall } from "../../../src/core/messages.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import type { CallAnswer, Environment, Episode, Reply, Score, Split, Task } from "../../../src/environments/environment.ts";
import { cut } from "../../../src/tools/cut.ts";
import type { JsonSchema, Tool } from "../../../src/tools/tool.ts";
import { HttpClient } from "../shared/http.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { type Row, readRows } from "../shared/rows.ts";
import { keyOf } from "../shared/settings.ts";
import { errorText, notCalled } from "../shared/tool.ts";
import { type CreateParams, createParamsSchema, openingOf, outputItems, responseOf } from "./responses.ts";
import { type NemoGymSettings, nemoGymSettingsSchema } from "./settings.ts";

interface NemoGymTask extends Task {
  readonly row: Row;
  readonly params: CreateParams;
}

const verdictSchema = z.looseObject({ reward: z.number() });
const seededSchema = z.looseObject({ mcp: z.unknown().optional() });

/**
 * A resource server of NeMo Gym: a session for each episode (cookies), tools by their routes, and a reward from `/verify` at the end. The rows
 * are the client's.
 * @param name it is recorded under, such as `nemo-gym:http://127.0.0.1:8000`
 * @throws ConfigError for wrong settings, and files of rows that cannot be read
 */
export function nemoGymEnvironment(name: string, url: string, userSettings: unknown): Environment<NemoGymTask> {
  const settings = parseSettings(nemoGymSettingsSchema, userSettings, "environment.settings");
  const rows = readRows(settings.tasks);
  const key = keyOf(settings);
  const http = new HttpClient({
    spoken: "NeMo Gym 0.4",
    base: url,
    timeoutMs: settings.timeoutMs,
    maxBytes: settings.maxAnswer * 2 ** 20,
    ...(key === undefined ? {} : { headers: { authorization: `Bearer ${key}` }, secrets: [key] }),
  });
  const { concurrency, replayable } = settings;
  return {
    name,
    replayable,
    splits: [...rows.keys()],
    ...(concurrency === undefined ? {} : { concurrency }),
    size: (split) => rows.get(split)?.length ?? 0,
    task: (split, index) => taskOf(split, index, rows.get(split)?.[index] ?? {}),
    start: (task) => NemoGymEpisode.start(http, task, settings),
  };
}

/** @throws ConfigError naming the row */
function taskOf(split: Split, index: number, row: Row): NemoGymTask {
  const params = createParamsSchema.safeParse(row.responses_create_params);
  if (params.success) return { id: `${split}/${index}`, row, params: params.data };
  throw new ConfigError(`environment.settings.tasks.${split}, row ${index + 1}: responses_create_params`, "not accepted", {
    expected: z.prettifyError(params.error),
  });
}

class NemoGymEpisode implements Episode {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly #http: HttpClient;
  readonly #task: NemoGymTask;
  readonly #settings: NemoGymSettings;
  /** The server's session. */
  readonly #cookies = new Map<string, string>();

  private constructor(http: HttpClient, task: NemoGymTask, settings: NemoGymSettings) {
    this.#http = http;
    this.#task = task;
    this.#settings = settings;
    this.messages = openingOf(task.params, settings.system);
    this.tools = task.params.tools.map(({ name, description, parameters }) => ({
      name,
      description: description ?? "",
      parameters: { properties: {}, ...parameters, type: "object" } as JsonSchema,
      replayable: settings.replayable,
      execute: notCalled,
    }));
  }

  /** @throws RemoteEnvError if the server seeds no session, or offers its tools over MCP */
  static async start(http: HttpClient, task: NemoGymTask, settings: NemoGymSettings): Promise<NemoGymEpisode> {
    const episode = new NemoGymEpisode(http, task, settings);
    const { text, status } = await episode.#post("/seed_session", task.row);
    if (status !== 200) throw http.refusal("POST /seed_session", { status, text });
    const { mcp } = http.read(seededSchema, text, "/seed_session");
    if (mcp !== undefined && mcp !== null)
      throw new RemoteEnvError("refused", "tools of the session", "over MCP", {
        expected: "tools by their routes: MCP sessions of NeMo Gym are not spoken here",
      });
    return episode;
  }

  async call(call: ToolCall, { signal }: { readonly signal: AbortSignal }): Promise<CallAnswer | undefined> {
    if (!this.tools.some(({ name }) => name === call.name)) return undefined;
    const path = `/${encodeURIComponent(call.name)}`;
    const { status, text } = await this.#post(path, call.argumentsText ?? JSON.stringify(call.arguments), signal);
    if (status >= 500 || status === 404) throw this.#http.refusal(`POST ${path}`, { status, text });
    const content = cut(text, this.#settings.maxOutput);
    return status === 200 ? { content } : { content: errorText(content), valid: false, failure: "invalid" };
  }

  /** A message without calls is the answer. */
  reply(): Reply {
    return { done: true };
  }

  async score(conversation: readonly Message[]): Promise<Score> {
    const items = outputItems(conversation.slice(this.messages.length));
    const given = this.#task.row.responses_create_params as { readonly tools?: unknown };
    const { status, text } = await this.#post("/verify", { ...this.#task.row, response: responseOf(items, given.tools) });
    if (status !== 200) throw this.#http.refusal("POST /verify", { status, text });
    const { reward, responses_create_params: _, response: __, ...rest } = this.#http.read(verdictSchema, text, "/verify");
    // What a server adds beside the reward are often numbers; the row's own fields are no scores.
    const scores = Object.entries(rest).filter(
      (entry): entry is [string, number] => typeof entry[1] === "number" && !(entry[0] in this.#task.row),
    );
    return { reward, scores: Object.fromEntries(scores) };
  }

  async #post(path: string, body: object | string, signal?: AbortSignal): Promise<{ status: number; text: string }> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers: Record<string, string> = cookie === "" ? {} : { cookie };
    const { status, text, setCookies } = await this.#http.ask({ method: "POST", path, body, headers, signal });
    for (const line of setCookies) {
      const [pair] = line.split(";");
      const at = pair.indexOf("=");
      if (at > 0) this.#cookies.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim());
    }
    return { status, text };
  }
}
