import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import type { Environment, Episode } from "../../../src/environments/environment.ts";
import { cut } from "../../../src/tools/cut.ts";
import type { JsonSchema } from "../../../src/tools/tool.ts";
import { connectMcp } from "../../tools/mcp/mcp.ts";
import { HttpClient } from "../shared/http.ts";
import { readRows } from "../shared/rows.ts";
import { SameStart } from "../shared/same-start.ts";
import { accessOf, declared } from "../shared/settings.ts";
import { notCalled, serverTool } from "../shared/tool.ts";
import { type Opening, startGymnasium } from "./gymnasium.ts";
import { type NemoGymTask, openingOf, outputItems, responseOf, taskOf } from "./responses.ts";
import { NemoGymSession } from "./session.ts";
import { type NemoGymSettings, nemoGymSettingsSchema } from "./settings.ts";

const verdictSchema = z.looseObject({ reward: z.number() });
const mcpSchema = door(
  "a server of MCP of NeMo Gym",
  {
    url_path: z.string(),
    transport: z.literal("http").default("http"),
    headers: z.record(z.string(), z.string()),
  },
  { ignores: ["server_name"] },
);
/** Other servers begin episodes with texts and tools of their own (Aviary's `obs` and `tools`), which nothing here would show. */
const seededSchema = door("a new session of NeMo Gym", { mcp: mcpSchema.nullish() });

/**
 * A resource server of NeMo Gym. A session for each episode (cookies); then either tools by their routes or over MCP and a reward from `/verify`
 * at the end, or, of a `GymnasiumServer`, a reward with every step. The rows are the client's.
 * @param name it is recorded under, such as `nemo-gym:http://127.0.0.1:8000`
 * @throws ConfigError for wrong settings, and files of rows that cannot be read
 */
export function nemoGymEnvironment(name: string, url: string, userSettings: unknown): Environment<NemoGymTask> {
  const settings = parseSettings(nemoGymSettingsSchema, userSettings, "environment.settings");
  const rows = readRows(settings.tasks);
  const http = new HttpClient({ spoken: "NeMo Gym 0.4", base: url, ...accessOf(settings) });
  const sameStart = new SameStart(settings);
  return {
    ...declared(name, settings),
    splits: [...rows.keys()],
    size: (split) => rows.get(split)?.length ?? 0,
    task: (split, index) => taskOf(split, index, rows.get(split)?.[index] ?? {}),
    start: async (task) => {
      const episode = await startEpisode({ http, url, settings }, task);
      sameStart.check(task.id, episode.messages);
      return episode;
    },
  };
}

interface ServerOf {
  readonly http: HttpClient;
  readonly url: string;
  readonly settings: NemoGymSettings;
}

/** @throws RemoteEnvError if the server neither seeds a session nor resets; ToolError if its tools over MCP are not there */
async function startEpisode({ http, url, settings }: ServerOf, task: NemoGymTask): Promise<Episode> {
  const session = new NemoGymSession(http);
  const messages = openingOf(task.params, settings.system);
  const tools = task.params.tools.map(({ name, description, parameters: given }) => {
    const parameters = { properties: {}, ...given, type: "object" } as JsonSchema;
    return serverTool({ name, description: description ?? "", parameters }, settings);
  });
  const seeded = await session.post("/seed_session", task.row);
  // A GymnasiumServer has no such route.
  if (seeded.status === 404) return startGymnasium(session, task, settings, { messages, tools });
  const { mcp } = session.read(seededSchema, "/seed_session", seeded);
  if (mcp === null || mcp === undefined) return verifiedEpisode(session, task, settings, { messages, tools });
  const { timeoutMs } = settings;
  const connected = await connectMcp(
    { url: new URL(mcp.url_path, url).href, headers: mcp.headers },
    { name: "of the resource server", timeoutMs, startMs: timeoutMs },
  );
  const episode = verifiedEpisode(session, task, settings, { messages, tools: [...tools, ...connected.tools] });
  return { ...episode, close: () => connected.close() };
}

/** An episode whose reward is the verdict on the whole of it. */
function verifiedEpisode(session: NemoGymSession, task: NemoGymTask, { maxOutput }: NemoGymSettings, opening: Opening): Episode {
  const { messages, tools } = opening;
  return {
    ...opening,
    /** Answers as NeMo Gym's own agent has them: whatever the route says is the tool's answer, also that there is no such route. */
    call: async (call, { signal }) => {
      const tool = tools.find(({ name }) => name === call.name);
      if (tool === undefined || tool.execute !== notCalled) return undefined;
      const path = `/${encodeURIComponent(call.name)}`;
      const answer = await session.post(path, call.argumentsText ?? JSON.stringify(call.arguments), signal);
      if (answer.status >= 500) throw session.refusal(path, answer);
      const content = cut(answer.text, maxOutput);
      return answer.status < 400 ? { content } : { content, valid: false, failure: "invalid" };
    },
    /** A message without calls is the answer. */
    reply: () => ({ done: true }),
    score: async (conversation) => {
      const items = outputItems(conversation.slice(messages.length));
      const { row } = task;
      const verdict = await session.post("/verify", { ...row, response: responseOf(items, task.tools) });
      const { reward, responses_create_params: _, response: __, ...rest } = session.read(verdictSchema, "/verify", verdict);
      // What a server adds beside the reward are often numbers; the row's own fields are no scores.
      const scores = Object.entries(rest).filter(
        (entry): entry is [string, number] => typeof entry[1] === "number" && !(entry[0] in row),
      );
      return { reward, scores: Object.fromEntries(scores) };
    },
  };
}
