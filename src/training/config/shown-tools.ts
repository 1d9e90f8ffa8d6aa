import type { Chat } from "../../chat/chat.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Environment } from "../../environments/environment.ts";
import { type FirstPrompt, firstPrompt } from "./first-prompt.ts";
import { hasBundledModel, trainedIn } from "./known-models.ts";
import type { TrainingConfig } from "./settings.ts";

/**
 * Checks that a model sees the tools that it may call: its first prompt is rendered with and without them. Protocols describe their tools in the
 * messages.
 * @returns what a user should know of a model that has learned its tools instead of seeing them; undefined if it sees them
 * @throws ModelError if it is not known how the model calls tools
 * @throws ConfigError if the model neither sees the tools of an own environment nor was trained in it
 */
export async function checkShownTools(chat: Chat, environment: Environment, config: TrainingConfig): Promise<string | undefined> {
  const prompt = await firstPrompt(environment, config.rollout.episodeTimeoutMs);
  if (prompt === undefined || prompt.tools.length === 0 || prompt.protocol !== undefined) return undefined;
  const format = chat.calls().name;
  if (chat.toolsIn === "system")
    return `The chat template shows no tools: they are written into the system message, and calls in the format "${format}" (chat.tools, chat.format).${
      config.algorithm.kind === "sft" || trainedIn(config.model, config.environment.name)
        ? ""
        : " A model that never calls so is taught by `retrograde-rl sft` on a few demonstrations."
    }`;
  const unseen = unseenTools(chat, prompt);
  if (unseen.length === 0 || config.rollout.hiddenTools === "allow") return undefined;
  if (config.algorithm.kind === "sft")
    return `The chat template does not show the model its ${unseen.length} tools; it learns them from the demonstrations.`;
  if (trainedIn(config.model, config.environment.name))
    return `The chat template does not show the model its ${unseen.length} tools; it has learned them in "${environment.name}".`;
  if (hasBundledModel(config.environment.name))
    return (
      `The chat template does not show the model its ${unseen.length} tools (${unseen[0]}, …): it can call them only if it was trained in ` +
      `"${environment.name}".`
    );
  throw new ConfigError(`the chat template of ${config.model}`, "the same prompt with and without tools", {
    expected: `a prompt that shows the tools of "${environment.name}": ${unseen.join(", ")}`,
    hint:
      "Use a model whose template shows tools, such as an instruct model of Qwen; or describe each tool by its name in the system message; " +
      'or teach the model by `retrograde-rl sft`. rollout.hiddenTools "allow" trains it as it is.',
  });
}

/** Returns the names of the tools that a prompt does not show: rendered with and without tools it is the same, and no message names them. */
function unseenTools(chat: Chat, { messages, tools }: FirstPrompt): string[] {
  const { text } = chat.open(messages, []);
  if (chat.open(messages, tools).text !== text) return [];
  return tools.map(({ name }) => name).filter((name) => !text.includes(name));
}
