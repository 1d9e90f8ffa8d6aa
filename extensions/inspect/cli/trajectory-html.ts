import { endingLine } from "../../../src/cli/conversation.ts";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import { writeFileAtomic } from "../../../src/files/atomic.ts";
import { shownPath } from "../../../src/terminal/invocation.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { article, escaped, htmlPage } from "../html-page.ts";

/** Writes an episode as one page, to be sent to somebody. */
export function htmlCommand(folder: string, trajectory: Trajectory, file: string, screen: Screen): void {
  const { id, task, messages } = trajectory;
  const parts = [
    `<p>Task ${escaped(task)}: ${escaped(endingLine(trajectory))}.</p>`,
    ...messages.map((message) => article(message)),
  ];
  writeFileAtomic(file, htmlPage(`${id} · ${shownPath(folder)}`, parts, `trajectory ${shownPath(folder)} ${id}`));
  screen.line(`${shownPath(file)}: ${id}, one file`);
}
