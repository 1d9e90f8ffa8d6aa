import type { Episode } from "../../../src/environments/environment.ts";
import type { JsonSchema, Tool } from "../../../src/tools/tool.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { Rewards } from "../shared/rewards.ts";
import { errorText, serverTool } from "../shared/tool.ts";
import { type OpenenvSession, RefusedStep } from "./session.ts";
import type { OpenenvSettings } from "./settings.ts";
import { observationText, toolAnswer } from "./show.ts";
import { type ActionSchema, type Observation, spoken, toolListSchema } from "./wire.ts";

/** How the model acts on this server. */
export type Acting =
  | { readonly kind: "tools" }
  | { readonly kind: "schema"; readonly tool: Tool }
  | { readonly kind: "text"; readonly field: string };

/** Chooses how the model acts. @returns undefined if the settings ask for a text field that the action does not have */
export function actingOf(action: ActionSchema, settings: OpenenvSettings): Acting | undefined {
  const { actions, textField } = settings;
  const names = Object.keys(action.properties);
  if (actions === "tools" || (actions === "auto" && names.includes("tool_name") && names.includes("arguments")))
    return { kind: "tools" };
  if (actions !== "text") return { kind: "schema", tool: stepTool(action, settings) };
  const texts = action.required.filter((name) => action.properties[name]?.type === "string");
  const field = textField ?? (texts.length === 1 ? texts[0] : undefined);
  return field !== undefined && names.includes(field) ? { kind: "text", field } : undefined;
}

function stepTool({ title, description, properties, required, ...rest }: ActionSchema, settings: OpenenvSettings): Tool {
  const { metadata: _, ...parameters } = properties;
  const about = description?.trim() ?? title;
  return serverTool(
    {
      name: "step",
      description: about === undefined || about === "" ? "Acts in the environment." : about,
      parameters: { ...rest, type: "object", properties: parameters, required } as JsonSchema,
    },
    settings,
  );
}

/** The tools of a session. @throws RemoteEnvError if the environment lists none in a known form */
export async function listTools(session: OpenenvSession, settings: OpenenvSettings): Promise<Tool[]> {
  const { observation } = await session.step('{"type":"list_tools"}');
  const parsed = toolListSchema.safeParse(observation.tools);
  if (!parsed.success || parsed.data.length === 0)
    throw new RemoteEnvError("malformed", "tools of the environment", observation.tools, {
      expected: "a list of tools with name, description and input_schema",
      hint: 'An environment without tools acts by environment.settings.actions "schema" or "text".',
    });
  return parsed.data.map(({ input_schema: parameters, ...tool }) => serverTool({ ...tool, parameters }, settings));
}

/** How an episode begins. */
interface Opening extends Pick<Episode, "messages" | "tools"> {
  readonly observation: Observation;
}

export function openenvEpisode(
  session: OpenenvSession,
  acting: Acting,
  { observation, messages, tools }: Opening,
  settings: OpenenvSettings,
): Episode {
  const rewards = new Rewards(settings, spoken);
  rewards.give(observation.reward, false);
  const tells = settings.executionErrors === "tell" ? ["VALIDATION_ERROR", "EXECUTION_ERROR"] : ["VALIDATION_ERROR"];
  /** An error that the model reads: its action did not fit. @throws the error, if it is a fault of the environment */
  const told = (error: unknown): string => {
    if (error instanceof RefusedStep && tells.includes(error.code)) return errorText(String(error.value));
    throw error;
  };
  return {
    messages,
    tools,
    call: async (call, { signal }) => {
      if (!tools.some(({ name }) => name === call.name)) return undefined;
      const args = call.argumentsText ?? JSON.stringify(call.arguments);
      const ofTools = acting.kind === "tools";
      const action = ofTools ? `{"type":"call_tool","tool_name":${JSON.stringify(call.name)},"arguments":${args}}` : args;
      try {
        const answer = await session.step(action, signal);
        const shown = ofTools
          ? toolAnswer(answer.observation, settings)
          : { content: observationText(answer.observation, settings) };
        return { ...shown, ...rewards.give(answer.reward, answer.done), done: answer.done };
      } catch (error) {
        return { content: told(error), valid: false, failure: "invalid" };
      }
    },
    reply: async ({ content }) => {
      if (acting.kind !== "text") return { done: true };
      try {
        const answer = await session.step(JSON.stringify({ [acting.field]: content }));
        const reward = rewards.give(answer.reward, answer.done);
        if (answer.done) return { done: true, ...reward };
        return { done: false, ...reward, messages: [{ role: "user", content: observationText(answer.observation, settings) }] };
      } catch (error) {
        return { done: false, messages: [{ role: "user", content: told(error) }] };
      }
    },
    score: () => rewards.score(),
    close: () => session.close(),
  };
}
