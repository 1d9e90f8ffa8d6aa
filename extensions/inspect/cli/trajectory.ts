import { episodeLines } from "../../../src/cli/conversation.ts";
import { RunError } from "../../../src/core/errors.ts";
import { type Trajectory, turnKey } from "../../../src/core/trajectory.ts";
import { readRun } from "../../../src/runs/read.ts";
import { bar, number, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { findPosition, type IndexPosition } from "../filter.ts";
import { summedWeights } from "../phrases.ts";
import { type RecordedCredit, readCredits } from "../read-credits.ts";
import { readIndex, TrajectoryReader } from "../read-index.ts";
import type { TrajectoryFlags } from "./trajectory-replay.ts";

/** One episode, and what the update did with each of its turns. @returns the exit code */
export async function trajectoryCommand(folder: string, id: string, flags: TrajectoryFlags, screen: Screen): Promise<number> {
  readRun(folder);
  const index = readIndex(folder);
  const position = findPosition(index, id);
  if (position === undefined)
    throw new RunError("the trajectory", id, {
      expected: `the id of one of this run's, such as "${index[0]?.id[0] ?? "step-1/0/0"}"`,
    });
  const trajectory = new TrajectoryReader(folder).read(position.line, position.at);
  if (flags.replay === true)
    return (await import("./trajectory-replay.ts")).replayCommand(folder, position, trajectory, flags, screen);
  if (flags.html !== undefined) (await import("./trajectory-html.ts")).htmlCommand(folder, trajectory, flags.html, screen);
  else if (flags.json) screen.line(JSON.stringify(trajectory, null, 2));
  else await show(folder, position, trajectory, screen);
  return 0;
}

async function show(folder: string, { line }: IndexPosition, trajectory: Trajectory, screen: Screen): Promise<void> {
  for (const text of episodeLines(trajectory, screen.paint, screen.width)) screen.line(text);
  const credits = line.source === "train" ? await readCredits(folder, line.step) : undefined;
  const own = credits?.filter((credit) => credit.trajectory === trajectory.id) ?? [];
  screen.line();
  if (own.length === 0) {
    screen.line(
      credits === undefined ? "No credits were recorded for it." : "The update left it alone: its group had no signal.",
    );
    return;
  }
  screen.line(screen.paint.bold("What the update did with its turns"));
  for (const text of creditLines(trajectory, own)) screen.line(text);
}

/** A line a turn: advantage, M, ratio and the sum of its weights, with a bar. */
function creditLines({ turns }: Trajectory, credits: readonly RecordedCredit[]): string[] {
  const weights = summedWeights(credits);
  const rows = turns.map((turn) => {
    const last = credits.findLast((credit) => credit.turn === turn.turn);
    const sum = (weights.get(turnKey(turn)) ?? []).reduce((total, weight) => total + weight, 0);
    return { turn: turn.turn, last, sum };
  });
  const largest = Math.max(...rows.map(({ sum }) => Math.abs(sum))) || 1;
  return table([
    ["turn", "Σ weight", "", "advantage", "M", "ratio"],
    ...rows.map(({ turn, last, sum }) => [
      String(turn + 1),
      last === undefined ? "–" : number(sum),
      `${sum > 0 ? "↑" : sum < 0 ? "↓" : " "} ${bar(Math.abs(sum) / largest, 12)}`,
      number(last?.advantage, 4),
      number(last?.factor, 4),
      number(last?.ratio, 4),
    ]),
  ]);
}
