import type { CallFormat } from "../actions/formats/format.ts";
import { ModelError } from "../core/errors.ts";
import type { AssistantMessage } from "../core/messages.ts";
import { type FoundFormat, findCallFormat, likelyFormat, requireFormat, settledFormat, showsTools } from "./call-format.ts";
import { type ControlTokens, controlTokens } from "./control-tokens.ts";
import type { ChatSettings } from "./settings.ts";
import { type CallStyle, compileTemplate, type Render } from "./template.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { trainedFormat, withToolsInSystem } from "./tools-in-system.ts";

export type ToolsIn = NonNullable<ChatSettings["tools"]>;

/** How a model's messages become text: its template, the format of its calls, and where tools are shown. */
export interface Rendering {
  readonly render: Render;
  readonly control: ControlTokens;
  readonly format: CallFormat | undefined;
  readonly found: FoundFormat;
  /** The name of the format that an unknown one probably is. */
  readonly likely: string | undefined;
  readonly toolsIn: ToolsIn;
}

/** @throws ModelError if the tokenizer has no chat template, one that does not parse, or one of another format than the setting says */
export function renderingOf(plainTokenizer: Tokenizer, settings: Partial<ChatSettings>): Rendering {
  const { chatTemplate, namedTokens } = plainTokenizer;
  if (chatTemplate === undefined) {
    throw new ModelError("chat template", undefined, {
      expected: '"chat_template" in tokenizer_config.json, or a file chat_template.jinja',
      hint: "Base models often have none; use the model's instruct version.",
    });
  }
  const { template: variables } = settings;
  const special = plainTokenizer.addedTokens.filter((token) => token.special).map(({ text }) => text);
  const addedTokens = plainTokenizer.addedTokens.map(({ text }) => text);
  const used = addedTokens.filter((text) => special.includes(text) || (isVisible(text) && chatTemplate.includes(text)));
  const control = controlTokens(special, used, plainTokenizer.encode);
  const renderIn = (style: CallStyle, shown?: CallFormat) =>
    compileTemplate(chatTemplate, namedTokens, { style, format: shown, variables, quote: control.quote });
  const inTemplate = findCallFormat(renderIn, stopTextsOf(plainTokenizer));
  const isKnown = "format" in inTemplate || inTemplate.hasCalls || showsTools(renderIn("objects"));
  const toolsIn = settings.tools ?? (isKnown ? "template" : "system");
  const customary = toolsIn === "system" && !("format" in inTemplate) ? trainedFormat(chatTemplate).name : undefined;
  const found = settledFormat(inTemplate, settings.format ?? customary);
  const format = "format" in found ? found.format : undefined;
  const likely = "format" in found || found.hasCalls ? undefined : likelyFormat(addedTokens).name;
  const plain = "format" in found ? renderIn(found.style, found.format) : renderIn("objects");
  const render: Render =
    toolsIn === "system"
      ? withToolsInSystem(renderIn("content", requireFormat(found)), requireFormat(found), control.quote)
      : toolsIn === "none"
        ? (messages, _tools, awaitsAssistant) => plain(messages, [], awaitsAssistant)
        : plain;
  return { render, control, format, found, likely, toolsIn };
}

/** Where turns of a rendering end. */
export function turnEndsOf(tokenizer: Tokenizer, plainTokenizer: Tokenizer) {
  const stopTexts = stopTextsOf(tokenizer);
  // In a history harmony writes <|end|> where a turn ended with <|return|>.
  const turnEnds = [...new Set([...stopTexts, ...stopTextsOf(plainTokenizer)])];

  /** The end-of-turn text at this place, "" if there is none. */
  const stopAt = (text: string, at: number): string => turnEnds.find((stop) => text.startsWith(stop, at)) ?? "";

  /**
   * Where the assistant's message ends in a rendering that ends with it, its end of turn not included: at the first token behind its
   * content that would end its sampling. Some templates end the conversation with another one.
   */
  const turnEnd = (text: string, from: number, { content }: AssistantMessage): number => {
    const said = content.trim();
    const behind = said === "" ? from : Math.max(from, text.lastIndexOf(said) + said.length);
    const ends = stopTexts.map((stop) => text.indexOf(stop, behind)).filter((at) => at !== -1);
    return Math.min(...ends, text.length);
  };
  return { stopAt, turnEnd };
}

/** White space is no control: some tokenizers have tokens of their own for several line ends, which every template contains. */
function isVisible(token: string): boolean {
  return /[^\s▁]/.test(token);
}

function stopTextsOf({ stopTokens, decode }: Tokenizer): string[] {
  return stopTokens.map((id) => decode([id]));
}

/**
 * A format's stop strings that are tokens end a turn, as the tokenizer's own do. A token between the parts of one message ends none: harmony's
 * `<|end|>` is behind every thought.
 */
export function withStops(tokenizer: Tokenizer, format: CallFormat | undefined): Tokenizer {
  if (format === undefined) return tokenizer;
  const inside = format.write({ role: "assistant", reasoning: "a", content: "b", toolCalls: [{ name: "c", arguments: {} }] });
  const own = tokenizer.stopTokens.filter((id) => !inside.includes(tokenizer.decode([id])));
  const more = (format.stopStrings ?? []).flatMap((text) => tokenizer.idOf(text) ?? []);
  return { ...tokenizer, stopTokens: [...new Set([...own, ...more])] };
}
