import { messageOf, type ReadAction } from "../../../src/actions/action.ts";
import { EnvError } from "../../../src/core/errors.ts";
import type { Message } from "../../../src/core/messages.ts";
import type { ToolFailure } from "../../../src/core/trajectory.ts";
import { type Environment, type Split, splitsOf, type Task } from "../../../src/environments/environment.ts";
import {
  type Answers,
  afterCalls,
  type CallResults,
  callTools,
  type OpenEpisode,
  opened,
  replyTo,
} from "../../../src/rollouts/answers.ts";
import { askScore, close, startEpisode } from "../../../src/rollouts/ask.ts";
import { schemasOf } from "../../../src/rollouts/dialogue.ts";
import type { RolloutOptions } from "../../../src/rollouts/options.ts";
import { type JsonSchema, parametersAsJsonSchema, type Tool } from "../../../src/tools/tool.ts";

/** The tool by which clients write a message instead of calling one of the environment's tools. */
export const messageTool = "message_to_user";

/** The name of that tool beside an environment's own tools, which keep theirs: a number makes it another one where it is taken. */
export function messageToolBeside(taken: readonly string[]): string {
  for (let n = 2, name = messageTool; ; name = `${messageTool}_${n++}`) if (!taken.includes(name)) return name;
}

export interface HostLimits {
  /** Longest wait for one answer of the environment, in milliseconds. */
  readonly episodeTimeoutMs: number;
  /** Most actions of an episode. */
  readonly maxTurns: number;
  /** Ends every wait for the environment: the server closes. */
  readonly signal?: AbortSignal;
}

export type ShownTool = Pick<Tool, "name" | "description"> & { readonly parameters: JsonSchema };

/** Tools as ORS and OpenEnv list them. */
export function toolList(tools: readonly ShownTool[]): object[] {
  return tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
}

export interface Outcome {
  readonly text: string;
  /** The reward of this action; with the last one comes the episode's score. Undefined if none was given. */
  readonly reward: number | undefined;
  readonly done: boolean;
  /** Why the call has no result. */
  readonly error?: "unknown-tool" | "invalid" | "error" | "timeout";
  readonly scores?: Readonly<Record<string, number>>;
}

/** A task by its split and index. @throws EnvError if there is none */
export async function taskAt(
  environment: Environment,
  { split, index }: { readonly split: Split | undefined; readonly index: number },
): Promise<Task> {
  const names = splitsOf(environment);
  if (split === undefined || !names.includes(split))
    throw new EnvError(`split of ${environment.name}`, split, { expected: names });
  const size = await environment.size(split);
  if (Number.isSafeInteger(index) && index >= 0 && index < size) return environment.task(split, index);
  throw new EnvError(`index of ${environment.name}'s split "${split}"`, index, { expected: `0 to ${size - 1}` });
}

/**
 * An episode that a client elsewhere plays, action by action. The client's model learns what is wrong with an action as in a
 * rollout; a fault of the environment is thrown.
 */
export class HostedEpisode {
  /** The task's id. */
  readonly task: string;
  readonly opening: readonly Message[];
  readonly #options: RolloutOptions;
  readonly #messages: Message[];
  #live: OpenEpisode;
  #turns = 0;
  #reward = 0;
  #done = false;

  private constructor(live: OpenEpisode, options: RolloutOptions) {
    this.#live = live;
    this.#options = options;
    this.task = options.id;
    this.opening = live.episode.messages;
    this.#messages = [...this.opening];
  }

  /** @throws EpisodeStop if the environment cannot start it */
  static async start(environment: Environment, task: Task, seed: number, limits: HostLimits): Promise<HostedEpisode> {
    const options = { id: task.id, group: task.id, seed, maxTokens: Number.POSITIVE_INFINITY, ...limits };
    return new HostedEpisode(opened(await startEpisode(environment, task, options)), options);
  }

  get done(): boolean {
    return this.#done;
  }

  get turns(): number {
    return this.#turns;
  }

  get #messageTool(): string {
    const { tools, episode } = this.#live;
    return messageToolBeside(episode.protocol === undefined ? tools.map(({ name }) => name) : []);
  }

  /** The episode's tools at the moment, and the one that writes a message. Protocols in plain text have that one alone. */
  get tools(): ShownTool[] {
    const { tools, episode } = this.#live;
    const own = episode.protocol === undefined ? tools : [];
    const what =
      episode.protocol === undefined
        ? "Writes a message to the user of this episode: a question, or the answer."
        : "Writes the response's next part, as the instructions describe it.";
    return [
      ...own.map((tool) => ({ name: tool.name, description: tool.description, parameters: parametersAsJsonSchema(tool) })),
      {
        name: this.#messageTool,
        description: `${what} This tool is the server's; all others are the environment's.`,
        parameters: {
          type: "object",
          properties: { content: { type: "string" } },
          required: ["content"],
          additionalProperties: false,
        },
      },
    ];
  }

  /**
   * Calls a tool, or writes a message.
   * @throws EpisodeStop for a fault of the environment, EnvError once the episode is over
   */
  async call(name: string, args: Readonly<Record<string, unknown>>): Promise<Outcome> {
    if (this.#done) throw new EnvError("the episode", "over", { expected: "a reset" });
    const names = this.tools.map((tool) => tool.name);
    const refused = { reward: undefined, done: false };
    if (!names.includes(name))
      return { text: `there is no tool "${name}". The tools are ${names.join(", ")}.`, ...refused, error: "unknown-tool" };
    if (name !== this.#messageTool) return this.#act(messageOf("", [{ name, arguments: args }]));
    const { content } = args;
    if (typeof content !== "string") return { text: `${name} needs content, a text.`, ...refused, error: "invalid" };
    const { protocol } = this.#live.episode;
    return this.#act(
      protocol === undefined
        ? messageOf(content, [])
        : protocol.actions.read(content, this.#messages, schemasOf(this.#live.tools)),
    );
  }

  async close(): Promise<void> {
    this.#done = true;
    await close(this.#live.episode, this.#options);
  }

  async #act(read: ReadAction): Promise<Outcome> {
    this.#messages.push(read.message);
    const results =
      read.calls.length === 0 || read.goesOn === true ? undefined : await callTools(this.#live, read, this.#options);
    const answers: Answers =
      read.goesOn === true
        ? { messages: [], done: false, tools: this.#live.tools, reward: undefined }
        : results === undefined
          ? await replyTo(this.#live, read, this.#options)
          : await afterCalls(this.#live, read, results, this.#options);
    this.#messages.push(...answers.messages);
    this.#live = { ...this.#live, tools: answers.tools };
    this.#turns++;
    this.#reward += answers.reward ?? 0;
    const error = results === undefined ? undefined : results.invalid > 0 ? "invalid" : failedBy(results);
    const outcome = { text: this.#textOf(answers.messages), ...(error === undefined ? {} : { error }) };
    if (!answers.done && this.#turns < this.#options.maxTurns) return { ...outcome, reward: answers.reward, done: false };
    this.#done = true;
    const { reward, scores } = await askScore(this.#live.episode, this.#messages, this.#options);
    return { ...outcome, reward: (answers.reward ?? 0) + reward, done: true, scores };
  }

  #textOf(messages: readonly Message[]): string {
    const continuation = this.#live.episode.protocol?.continuation;
    if (continuation?.kind === "one-message") return continuation.write(messages);
    const shown = continuation === undefined ? messages : continuation.show(messages);
    return shown.map(({ content }) => content).join("\n\n");
  }
}

/** First messages as one text, for clients that know a single prompt. */
export function promptText(messages: readonly Message[]): string {
  return messages.map(({ content }) => content).join("\n\n");
}

/** A result that is not shown whole is a result. */
function failedBy({ failures }: CallResults): Exclude<ToolFailure["kind"], "lost"> | undefined {
  return failures.map(({ kind }) => kind).find((kind) => kind !== "lost");
}
