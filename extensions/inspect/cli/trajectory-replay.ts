import { episodeLines } from "../../../src/cli/conversation.ts";
import { RunError } from "../../../src/core/errors.ts";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import { whileOpen } from "../../../src/environments/lifetime.ts";
import { readMetrics } from "../../../src/runs/read.ts";
import { tokenizerFolder } from "../../../src/runs/tokenizer-files.ts";
import { openChat } from "../../../src/sdk/model.ts";
import { environmentOf, recordedConfig } from "../../../src/sdk/run-environment.ts";
import { plural } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { loadConfigFile } from "../../../src/training/config/config-file.ts";
import type { IndexPosition } from "../filter.ts";
import { type Origin, type ReplayDifference, replayEpisode } from "../replay.ts";

/** Plays an episode once more in its environment, with the recorded actions. @returns the exit code: 1 if it differs from the record */
export async function replayCommand(
  folder: string,
  position: IndexPosition,
  recorded: Trajectory,
  { config: file }: TrajectoryFlags,
  screen: Screen,
): Promise<number> {
  const config = { model: folder, ...recordedConfig(folder, ["environment", "rollout", "chat", "seed"]) };
  const tokenizer = tokenizerFolder(folder);
  if (tokenizer === undefined)
    throw new RunError(folder, "without a tokenizer", {
      expected: "a run that keeps its tokenizer",
      hint: "Version 0.1 kept none before a run had finished.",
    });
  const world = environmentOf(config, await loadConfigFile(file));
  const { chat, tokenizer: words } = openChat(tokenizer, config.chat);
  const { trajectory, difference } = await whileOpen(world, { timeoutMs: config.rollout.episodeTimeoutMs }, (environment) =>
    replayEpisode(recorded, originOf(position), { config, chat, environment, steps: readMetrics(folder) }),
  );
  for (const line of episodeLines(trajectory, screen.paint, screen.width)) screen.line(line);
  screen.line();
  const calls = recorded.turns.reduce((sum, { toolCalls }) => sum + toolCalls, 0);
  if (difference === undefined) {
    const played = `${plural(recorded.turns.length, "turn")}, ${plural(calls, "tool call")}`;
    screen.line(`Replayed ${played}: every context, the scores and the end are as recorded.`);
    return 0;
  }
  for (const line of differenceLines(difference, (ids) => words.decode(ids))) screen.line(screen.paint.red(line));
  return 1;
}

function originOf({ line: { source, step, split } }: IndexPosition): Origin {
  return source === "train" ? { source, step } : { source, step, split: split ?? "test" };
}

/** The longest part of a difference that is shown, in letters. */
const shownLetters = 200;

function differenceLines(
  { turn, agree, recorded, replayed }: ReplayDifference,
  decode: (ids: readonly number[]) => string,
): string[] {
  const shown = (of: ReplayDifference["recorded"]) =>
    typeof of === "string" ? of : JSON.stringify(decode(of).slice(0, shownLetters));
  const where =
    turn === undefined
      ? "at its end"
      : `at turn ${turn + 1}${agree === undefined ? "" : `, after ${agree} tokens of its context`}`;
  return [`The replay differs ${where}.`, `recorded: ${shown(recorded)}`, `replayed: ${shown(replayed)}`];
}

export interface TrajectoryFlags {
  readonly json?: boolean;
  /** The file of a page of it. */
  readonly html?: string;
  /** Play it once more. */
  readonly replay?: boolean;
  readonly config?: string;
}
