import type { Message, ToolCall } from "../../../src/core/messages.ts";
import type { CallAnswer, Episode, Reply } from "../../../src/environments/environment.ts";
import type { JsonSchema, Tool } from "../../../src/tools/tool.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { errorText, notCalled } from "../shared/tool.ts";
import { type OpenenvSession, RefusedStep } from "./session.ts";
import type { OpenenvSettings } from "./settings.ts";
import { observationText, toolAnswer } from "./show.ts";
import { type ActionSchema, type Observation, toolListSchema } from "./wire.ts";

/** How the model acts on this server. */
export type Acting =
  | { readonly kind: "tools" }
  | { readonly kind: "schema"; readonly tool: Tool }
  | { readonly kind: "text"; readonly field: string };

/** Chooses how the model acts. @returns undefined if the settings ask for a text field that the action does not have */
export function actingOf(action: ActionSchema, { actions, textField, replayable }: OpenenvSettings): Acting | undefined {
  const names = Object.keys(action.properties);
  if (actions === "tools" || (actions === "auto" && names.includes("tool_name") && names.includes("arguments")))
    return { kind: "tools" };
  if (actions !== "text") return { kind: "schema", tool: stepTool(action, replayable) };
  const texts = action.required.filter((name) => action.properties[name]?.type === "string");
  const field = textField ?? (texts.length === 1 ? texts[0] : undefined);
  return field !== undefined && names.includes(field) ? { kind: "text", field } : undefined;
}

/** The action as one tool. Its metadata is for programs. */
function stepTool({ title, description, properties, required, ...rest }: ActionSchema, replayable: boolean): Tool {
  const { metadata: _, ...parameters } = properties;
  const about = description?.trim() ?? title;
  return {
    name: "step",
    description: about === undefined || about === "" ? "Acts in the environment." : about,
    parameters: { ...rest, type: "object", properties: parameters, required } as JsonSchema,
    replayable,
    execute: notCalled,
  };
}

/** The tools of a session. @throws RemoteEnvError if the environment lists none in a known form */
export async function listTools(session: OpenenvSession, { replayable }: OpenenvSettings, signal?: AbortSignal): Promise<Tool[]> {
  const { observation } = await session.step('{"type":"list_tools"}', signal);
  const parsed = toolListSchema.safeParse(observation.tools);
  if (!parsed.success || parsed.data.length === 0)
    throw new RemoteEnvError("malformed", "tools of the environment", observation.tools, {
      expected: "a list of tools with name, description and input_schema",
      hint: 'An environment without tools acts by environment.settings.actions "schema" or "text".',
    });
  return parsed.data.map(({ name, description, input_schema }) => ({
    name,
    description,
    parameters: input_schema,
    replayable,
    execute: notCalled,
  }));
}

/** One episode on a session that has been reset. */
export class OpenenvEpisode implements Episode {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly #session: OpenenvSession;
  readonly #acting: Acting;
  readonly #settings: OpenenvSettings;
  #return = 0;

  constructor(
    session: OpenenvSession,
    acting: Acting,
    opening: { readonly observation: Observation; readonly messages: readonly Message[]; readonly tools: readonly Tool[] },
    settings: OpenenvSettings,
  ) {
    this.#session = session;
    this.#acting = acting;
    this.#settings = settings;
    this.messages = opening.messages;
    this.tools = opening.tools;
    this.#reward(opening.observation);
  }

  async call(call: ToolCall, { signal }: { readonly signal: AbortSignal }): Promise<CallAnswer | undefined> {
    if (!this.tools.some(({ name }) => name === call.name)) return undefined;
    const args = call.argumentsText ?? JSON.stringify(call.arguments);
    const action =
      this.#acting.kind === "tools" ? `{"type":"call_tool","tool_name":${JSON.stringify(call.name)},"arguments":${args}}` : args;
    try {
      const answer = await this.#session.step(action, signal);
      const shown =
        this.#acting.kind === "tools"
          ? toolAnswer(answer.observation, this.#settings)
          : { content: observationText(answer.observation, this.#settings) };
      return { ...shown, ...this.#reward(answer), done: answer.done };
    } catch (error) {
      return { content: errorText(String(this.#told(error).value)), valid: false, failure: "invalid" };
    }
  }

  async reply({ content }: { readonly content: string }): Promise<Reply> {
    if (this.#acting.kind !== "text") return { done: true };
    try {
      const answer = await this.#session.step(JSON.stringify({ [this.#acting.field]: content }));
      const reward = this.#reward(answer);
      if (answer.done) return { done: true, ...reward };
      return {
        done: false,
        ...reward,
        messages: [{ role: "user", content: observationText(answer.observation, this.#settings) }],
      };
    } catch (error) {
      return { done: false, messages: [{ role: "user", content: errorText(String(this.#told(error).value)) }] };
    }
  }

  score(): { readonly reward: number } {
    return { reward: this.#settings.rewards === "return" ? this.#return : 0 };
  }

  close(): void {
    this.#session.close();
  }

  /** Adds a reward to the return, or gives it to its turn. */
  #reward({ reward }: Observation): { readonly reward?: number } {
    const value = Number(reward ?? 0);
    this.#return += value;
    return this.#settings.rewards === "turns" && reward !== null && reward !== undefined ? { reward: value } : {};
  }

  /** An error that the model reads: its action did not fit. @throws the error, if it is a fault of the environment */
  #told(error: unknown): RefusedStep {
    const tells = this.#settings.executionErrors === "tell" ? ["VALIDATION_ERROR", "EXECUTION_ERROR"] : ["VALIDATION_ERROR"];
    if (error instanceof RefusedStep && tells.includes(error.code)) return error;
    throw error;
  }
}
