import { ConfigError } from "../core/errors.ts";
import type { Message, ToolCall } from "../core/messages.ts";
import { isScored, succeeded } from "../core/outcome.ts";
import { roleScore, type Trajectory, turnsOfMessages } from "../core/trajectory.ts";
import { plural } from "../terminal/format.ts";
import type { Paint } from "../terminal/paint.ts";
import { printable } from "../terminal/printable.ts";
import { wrap } from "../terminal/wrap.ts";

/** A message as lines: who wrote it on the left, text and tool calls beside it, wrapped to the width. */
export function messageLines(message: Message, paint: Paint, width: number, writer: string = message.role): string[] {
  const texts =
    message.role === "assistant"
      ? [
          message.reasoning === undefined ? "" : `(${message.reasoning})`,
          message.content,
          ...(message.toolCalls ?? []).map(callText),
        ]
      : [message.role === "tool" ? `${message.name} → ${message.content}` : message.content];
  const colour = { system: paint.dim, user: paint.cyan, assistant: paint.green, tool: paint.yellow }[message.role];
  const lines = texts.filter((text) => text !== "").flatMap((text) => wrap(printable(text), Math.max(20, width - indent)));
  return (lines.length === 0 ? ["(nothing)"] : lines).map(
    (line, i) =>
      colour((i === 0 ? writer.slice(0, indent - 1) : "").padEnd(indent)) + (message.role === "system" ? paint.dim(line) : line),
  );
}

const indent = 11;

/** `contacts_find(name: "Ana")` */
export function callText({ name, arguments: args }: ToolCall): string {
  const list = Object.entries(args).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return `${name}(${list.join(", ")})`;
}

/** A whole episode: what it was, the conversation, how it ended. */
export function episodeLines(
  episode: Trajectory,
  paint: Paint,
  width: number,
  { maxMessages, maxLines }: { readonly maxMessages?: number; readonly maxLines?: number } = {},
): string[] {
  const { messages } = episode;
  const turns = turnsOfMessages(episode);
  const shown = messages.slice(0, maxMessages);
  const left = messages.length - shown.length;
  return [
    ...shown.flatMap((message, i) => shortened(messageLines(message, paint, width, turns[i]?.role), paint, maxLines)),
    ...(left > 0 ? [paint.dim(`… ${plural(left, "more message")}`)] : []),
    paint.dim(endingLine(episode)),
  ];
}

function shortened(lines: readonly string[], paint: Paint, most = Number.POSITIVE_INFINITY): readonly string[] {
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), `${" ".repeat(indent)}${paint.dim(`… ${plural(lines.length - most + 1, "more line")}`)}`];
}

/** How an episode ended. */
export function endingLine(episode: Trajectory): string {
  const roles = [...new Set(episode.turns.flatMap(({ role }) => role ?? []))];
  const ofRoles = roles.map((role) => `${role} ${episode.scores[roleScore(role)] ?? 0}`);
  return `reward ${episode.reward}${ofRoles.length === 0 ? "" : ` (${ofRoles.join(", ")})`}, ${plural(episode.turns.length, "turn")}, ${endOf(episode)}`;
}

/** The same of one that nobody scores. */
export function endOf({ stopReason, error }: Trajectory): string {
  return `ended: ${stopReason}${error === undefined ? "" : ` (${error})`}`;
}

/** The part of an episode that the last screen of a measurement shows; `trajectory` has the rest. */
export const longestShown = { maxMessages: 24, maxLines: 24 };

/**
 * Episodes at the end of a measurement: as many as `--show` asks for, those that fail first. Without it the first that fails, or the first one where
 * none does.
 * @throws ConfigError for what is no number
 */
export function shownEpisodes(episodes: readonly Trajectory[], show: string | undefined, paint: Paint, width: number): string[] {
  if (show !== undefined && !/^\d+$/.test(show)) throw new ConfigError("--show", show, { expected: "a number of episodes" });
  const rank = (episode: Trajectory) => (!isScored(episode) ? 2 : succeeded(episode) ? 1 : 0);
  const shown = episodes.toSorted((a, b) => rank(a) - rank(b)).slice(0, Number(show ?? 1));
  const titles = ["An episode that it fails", "An episode that it solves", "An episode that an error ended"];
  return shown.flatMap((episode) => [
    ...["", paint.bold(`${titles[rank(episode)]} (${episode.id})`)],
    ...episodeLines(episode, paint, width, longestShown),
  ]);
}
