import type { ActionFormat } from "./action.ts";

export interface FencedCodeOptions {
  /** The tool that a block calls. Default "python". */
  readonly tool?: string;
  /** The tool's argument that takes the code. Default "code". */
  readonly argument?: string;
  /** Languages after the opening fence that make a call. A block without one always does. Default "python" and "py". */
  readonly languages?: readonly string[];
  /** Which block is called where a message has several. Default "first": what follows it was written without its result. */
  readonly block?: "first" | "last";
}

/**
 * Code in a fence calls one tool: the first block of a message is the call, and a message without one is an answer.
 * A block that is never closed ends with the message.
 * @example
 * fencedCode().read("I add.\n```python\nprint(2 + 2)\n```", []).calls; // [{ name: "python", arguments: { code: "print(2 + 2)" } }]
 */
export function fencedCode({
  tool = "python",
  argument = "code",
  languages = ["python", "py"],
  block = "first",
}: FencedCodeOptions = {}): ActionFormat {
  return {
    read: (text) => {
      const blocks = blocksOf(text).filter(({ language }) => language === "" || languages.includes(language.toLowerCase()));
      const chosen = block === "first" ? blocks[0] : blocks.at(-1);
      if (chosen === undefined) return { message: { role: "assistant", content: text }, calls: [] };
      const call = { name: tool, arguments: { [argument]: chosen.code } };
      return { message: { role: "assistant", content: text, toolCalls: [call] }, calls: [call] };
    },
  };
}

/** A fence is a line that begins with three or more backticks; it is closed by as many or more. */
function blocksOf(text: string): { readonly language: string; readonly code: string }[] {
  const blocks: { language: string; code: string }[] = [];
  let open: { fence: string; language: string; lines: string[] } | undefined;
  const close = () => {
    if (open !== undefined) blocks.push({ language: open.language, code: open.lines.join("\n") });
    open = undefined;
  };
  for (const line of text.split("\n")) {
    const [, fence, rest = ""] = /^\s*(`{3,})\s*(.*?)\s*$/.exec(line) ?? [];
    if (open === undefined) {
      if (fence !== undefined && !rest.includes("`")) open = { fence, language: rest.split(/\s/)[0] ?? "", lines: [] };
    } else if (fence !== undefined && rest === "" && fence.length >= open.fence.length) close();
    else open.lines.push(line);
  }
  close();
  return blocks;
}
