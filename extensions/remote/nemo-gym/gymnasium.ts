import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import type { AssistantMessage, Message } from "../../../src/core/messages.ts";
import type { Episode } from "../../../src/environments/environment.ts";
import { cut } from "../../../src/tools/cut.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { Rewards } from "../shared/rewards.ts";
import { type NemoGymTask, outputItems, responseOf } from "./responses.ts";
import type { NemoGymSession } from "./session.ts";
import type { NemoGymSettings } from "./settings.ts";

/** Answers of a `GymnasiumServer`. Source: resources_servers/gymnasium/base.py and responses_api_agents/gymnasium_agent/app.py of nemo-gym 0.4. */
const resetSchema = door(
  "the start of an episode of NeMo Gym",
  { observation: z.string().nullable() },
  { ignores: ["info"] }, // for programs
);
const stepSchema = door("a step of NeMo Gym", {
  observation: z.string().nullable(),
  reward: z.number(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  info: z
    .looseObject({
      tool_outputs: z.array(door("a tool's output of NeMo Gym", { call_id: z.string(), output: z.string() })).optional(),
    })
    .nullish()
    .transform((info) => info ?? {}),
});

/** How an episode begins. */
export type Opening = Pick<Episode, "messages" | "tools">;

/**
 * Starts an episode of a `GymnasiumServer`: what the model does goes to `/step`, which answers with an observation, a reward and whether it is over.
 * Each call is a step of its own.
 * @throws RemoteEnvError if the server does not reset
 */
export async function startGymnasium(
  session: NemoGymSession,
  { row, tools: given }: NemoGymTask,
  settings: NemoGymSettings,
  { messages, tools }: Opening,
): Promise<Episode> {
  const { maxOutput } = settings;
  const rewards = new Rewards(settings, "NeMo Gym 0.4");
  let steps = 0;
  const act = async (message: AssistantMessage, signal?: AbortSignal) => {
    steps++;
    const body = { ...row, response: responseOf(outputItems([message]), given) };
    const step = session.read(stepSchema, "/step", await session.post("/step", body, signal));
    const done = step.terminated || step.truncated;
    return { ...step, done, given: rewards.give(step.reward, done) };
  };
  const { observation } = session.read(resetSchema, "/reset", await session.post("/reset", row));
  const shown: Message[] = observation ? [{ role: "user", content: cut(observation, maxOutput) }] : [];
  return {
    messages: [...messages, ...shown],
    tools,
    call: async (call, { signal }) => {
      if (!tools.some(({ name }) => name === call.name)) return undefined;
      const id = call.id ?? `call_${steps}`;
      const step = await act({ role: "assistant", content: "", toolCalls: [{ ...call, id }] }, signal);
      const output = step.info.tool_outputs?.find(({ call_id }) => call_id === id)?.output;
      const content = [output, step.observation].filter((text) => typeof text === "string").join("\n");
      return { content: cut(content, maxOutput), done: step.done, ...step.given };
    },
    reply: async (message) => {
      const { done, given: reward, observation: next } = await act(message);
      if (done) return { done, ...reward };
      if (!next)
        throw new RemoteEnvError("malformed", "observation of POST /step", next, {
          expected: "a text, as the episode is neither terminated nor truncated",
        });
      return { done, messages: [{ role: "user", content: cut(next, maxOutput) }], ...reward };
    },
    score: () => rewards.score(),
  };
}
