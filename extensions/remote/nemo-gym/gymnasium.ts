import { z } from "zod";
import type { AssistantMessage, Message, ToolCall } from "../../../src/core/messages.ts";
import type { CallAnswer, Episode, Reply } from "../../../src/environments/environment.ts";
import { cut } from "../../../src/tools/cut.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import type { HttpAnswer, HttpClient } from "../shared/http.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { Rewards } from "../shared/rewards.ts";
import { outputItems, responseOf } from "./responses.ts";
import type { NemoGymSession } from "./session.ts";
import type { NemoGymSettings } from "./settings.ts";
import type { NemoGymTask } from "./task.ts";

/** Answers of a `GymnasiumServer`. Source: resources_servers/gymnasium/base.py and responses_api_agents/gymnasium_agent/app.py of nemo-gym 0.4. */
const resetSchema = z.strictObject({ observation: z.string().nullable(), info: z.unknown().optional() });
const stepSchema = z.strictObject({
  observation: z.string().nullable(),
  reward: z.number(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  info: z
    .looseObject({ tool_outputs: z.array(z.object({ call_id: z.string(), output: z.string() })).optional() })
    .nullish()
    .transform((info) => info ?? {}),
});
type Step = z.output<typeof stepSchema>;

interface Opening {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
}

/**
 * An episode of a `GymnasiumServer`: what the model does goes to `/step`, which answers with an observation, a reward and whether it is over.
 * Each call is a step of its own.
 */
export class GymnasiumEpisode implements Episode {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly #http: HttpClient;
  readonly #session: NemoGymSession;
  readonly #task: NemoGymTask;
  readonly #settings: NemoGymSettings;
  readonly #rewards: Rewards;
  #steps = 0;

  private constructor(http: HttpClient, session: NemoGymSession, task: NemoGymTask, settings: NemoGymSettings, opening: Opening) {
    this.#http = http;
    this.#session = session;
    this.#task = task;
    this.#settings = settings;
    this.#rewards = new Rewards(settings, "NeMo Gym 0.4");
    this.messages = opening.messages;
    this.tools = opening.tools;
  }

  /** @throws RemoteEnvError if the server does not reset */
  static async start(
    http: HttpClient,
    session: NemoGymSession,
    task: NemoGymTask,
    settings: NemoGymSettings,
    opening: Opening,
  ): Promise<GymnasiumEpisode> {
    const { observation } = read(http, resetSchema, "/reset", await session.post("/reset", task.row));
    const shown: Message[] = observation ? [{ role: "user", content: cut(observation, settings.maxOutput) }] : [];
    return new GymnasiumEpisode(http, session, task, settings, { ...opening, messages: [...opening.messages, ...shown] });
  }

  async call(call: ToolCall, { signal }: { readonly signal: AbortSignal }): Promise<CallAnswer | undefined> {
    if (!this.tools.some(({ name }) => name === call.name)) return undefined;
    const id = call.id ?? `call_${this.#steps}`;
    const step = await this.#step({ role: "assistant", content: "", toolCalls: [{ ...call, id }] }, signal);
    const output = step.info.tool_outputs?.find(({ call_id }) => call_id === id)?.output;
    const content = [output, step.observation].filter((text) => typeof text === "string").join("\n");
    return { content: cut(content, this.#settings.maxOutput), done: over(step), ...this.#rewards.give(step.reward, over(step)) };
  }

  async reply(message: AssistantMessage): Promise<Reply> {
    const step = await this.#step(message);
    const given = this.#rewards.give(step.reward, over(step));
    if (over(step)) return { done: true, ...given };
    if (!step.observation)
      throw new RemoteEnvError("malformed", "observation of POST /step", step.observation, {
        expected: "a text, as the episode is neither terminated nor truncated",
      });
    return { done: false, messages: [{ role: "user", content: cut(step.observation, this.#settings.maxOutput) }], ...given };
  }

  score(): { readonly reward: number } {
    return this.#rewards.score();
  }

  async #step(message: AssistantMessage, signal?: AbortSignal): Promise<Step> {
    this.#steps++;
    const { row, tools } = this.#task;
    const body = { ...row, response: responseOf(outputItems([message]), tools) };
    return read(this.#http, stepSchema, "/step", await this.#session.post("/step", body, signal));
  }
}

const over = ({ terminated, truncated }: Step) => terminated || truncated;

function read<T>(http: HttpClient, schema: z.ZodType<T>, path: string, answer: HttpAnswer): T {
  if (answer.status !== 200) throw http.refusal(`POST ${path}`, answer);
  return http.read(schema, answer.text, path);
}
