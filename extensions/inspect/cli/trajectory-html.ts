import { callText, endingLine } from "../../../src/cli/conversation.ts";
import type { AssistantMessage, Message } from "../../../src/core/messages.ts";
import { withoutSecrets } from "../../../src/core/secrets.ts";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import { writeFileAtomic } from "../../../src/files/atomic.ts";
import { commandPrefix, shownPath } from "../../../src/terminal/invocation.ts";
import type { Screen } from "../../../src/terminal/screen.ts";

/** Writes an episode as one page that needs nothing else, to be sent to somebody. Passwords and keys in it are masked. */
export function htmlCommand(folder: string, trajectory: Trajectory, file: string, screen: Screen): void {
  writeFileAtomic(file, episodePage(folder, trajectory));
  screen.line(`${shownPath(file)}: ${trajectory.id}, one file`);
}

function episodePage(folder: string, trajectory: Trajectory): string {
  const title = escaped(`${trajectory.id} · ${shownPath(folder)}`);
  const command = escaped(`${commandPrefix()} trajectory ${shownPath(folder)} ${trajectory.id}`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
article { border-left: 4px solid #888; padding: 0 0 0 1rem; margin: 1.2rem 0; }
article.assistant { border-color: #2a8a3e; } article.user { border-color: #1f6feb; } article.tool { border-color: #b07000; }
h1 { font-size: 1.2rem; overflow-wrap: anywhere; } h2 { font-size: .85rem; margin: 0; } pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; font: inherit; }
code { font: .9em ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; } .reasoning { font-style: italic; }
</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>Task ${escaped(trajectory.task)}: ${escaped(endingLine(trajectory))}.</p>
${trajectory.messages.map(article).join("\n")}
</main>
<footer><p><code>${command}</code></p></footer>
</body>
</html>
`;
}

function article(message: Message): string {
  const heading = message.role === "tool" ? `tool ${message.name}` : message.role;
  const { reasoning = "", toolCalls = [] } = message.role === "assistant" ? message : ({} as Partial<AssistantMessage>);
  return [
    `<article class="${message.role}">`,
    `<h2>${escaped(heading)}</h2>`,
    ...(reasoning === "" ? [] : [`<pre class="reasoning">${escaped(reasoning)}</pre>`]),
    ...(message.content === "" ? [] : [`<pre>${escaped(message.content)}</pre>`]),
    ...toolCalls.map((call) => `<p><code>${escaped(callText(call))}</code></p>`),
    "</article>",
  ].join("\n");
}

function escaped(text: string): string {
  const characters: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return withoutSecrets(text).replaceAll(/[&<>"]/g, (each) => characters[each] ?? each);
}
