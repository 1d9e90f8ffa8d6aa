import { callText } from "../../src/cli/conversation.ts";
import type { AssistantMessage, Message } from "../../src/core/messages.ts";
import { withoutSecrets } from "../../src/core/secrets.ts";
import { commandPrefix } from "../../src/terminal/invocation.ts";

/** Returns a page that needs nothing else. @param parts HTML @param command of the command line that shows the same */
export function htmlPage(title: string, parts: readonly string[], command: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
article { border-left: 4px solid #888; padding: 0 0 0 1rem; margin: 1.2rem 0; }
article.assistant { border-color: #2a8a3e; } article.user { border-color: #1f6feb; } article.tool { border-color: #b07000; }
h1 { font-size: 1.2rem; overflow-wrap: anywhere; } h2 { font-size: .85rem; margin: 0; } pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; font: inherit; }
code { font: .9em ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; } .reasoning { font-style: italic; } svg { max-width: 100%; height: auto; }
</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${parts.join("\n")}
</main>
<footer><p><code>${escaped(`${commandPrefix()} ${command}`)}</code></p></footer>
</body>
</html>
`;
}

/** @param most letters that are shown of each text. Default: all */
export function article(message: Message, most = Number.POSITIVE_INFINITY): string {
  const heading = message.role === "tool" ? `tool ${message.name}` : message.role;
  const { reasoning = "", toolCalls = [] } = message.role === "assistant" ? message : ({} as Partial<AssistantMessage>);
  const shown = (text: string) => escaped(cut(withoutSecrets(text), most));
  return [
    `<article class="${message.role}">`,
    `<h2>${escaped(heading)}</h2>`,
    ...(reasoning === "" ? [] : [`<pre class="reasoning">${shown(reasoning)}</pre>`]),
    ...(message.content === "" ? [] : [`<pre>${shown(message.content)}</pre>`]),
    ...toolCalls.map((call) => `<p><code>${shown(callText(call))}</code></p>`),
    "</article>",
  ].join("\n");
}

const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most)} … (${text.length - most} more letters)`;

/** Passwords and keys are masked. */
export function escaped(text: string): string {
  const characters: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return withoutSecrets(text).replaceAll(/[&<>"]/g, (each) => characters[each] ?? each);
}
