import { RunError } from "../../core/errors.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { type RecordedCredit, readCredits } from "../../runs/credits.ts";
import { findPlace } from "../../runs/filter.ts";
import { readIndex, TrajectoryReader } from "../../runs/index-file.ts";
import { summedWeights } from "../../runs/phrases.ts";
import { readRun } from "../../runs/read.ts";
import { episodeLines } from "../conversation.ts";
import { bar, number, table } from "../format.ts";
import type { Screen } from "../screen.ts";

/** One episode, and what the update did with each of its turns. */
export async function trajectoryCommand(
  folder: string,
  id: string,
  { json }: { readonly json?: boolean },
  screen: Screen,
): Promise<void> {
  readRun(folder);
  const index = readIndex(folder);
  const place = findPlace(index, id);
  if (place === undefined)
    throw new RunError("the trajectory", id, {
      expected: `the id of one of this run's, such as "${index[0]?.id[0] ?? "step-1/0/0"}"`,
    });
  const trajectory = new TrajectoryReader(folder).read(place.line, place.at);
  if (json) {
    screen.line(JSON.stringify(trajectory, null, 2));
    return;
  }
  for (const line of episodeLines(trajectory, screen.paint, screen.width)) screen.line(line);
  const credits = place.line.source === "train" ? await readCredits(folder, place.line.step) : undefined;
  const own = credits?.filter((credit) => credit.trajectory === id) ?? [];
  screen.line();
  if (own.length === 0) {
    screen.line(
      credits === undefined ? "No credits were recorded for it." : "The update left it alone: its group had no signal.",
    );
    return;
  }
  screen.line(screen.paint.bold("What the update did with its turns"));
  for (const line of creditLines(trajectory, own)) screen.line(line);
}

/** A line a turn: advantage, M, ratio and the sum of its weights, with a bar. */
export function creditLines({ turns }: Trajectory, credits: readonly RecordedCredit[]): string[] {
  const weights = summedWeights(credits);
  const rows = turns.map((turn) => {
    const last = credits.findLast((credit) => credit.turn === turn.turn);
    const sum = (weights.get(`${turn.trajectory}/${turn.turn}`) ?? []).reduce((total, weight) => total + weight, 0);
    return { turn: turn.turn, last, sum };
  });
  const largest = Math.max(...rows.map(({ sum }) => Math.abs(sum))) || 1;
  const known = (value: number | undefined) => (value === undefined || Number.isNaN(value) ? "–" : number(value, 4));
  return table([
    ["turn", "Σ weight", "", "advantage", "M", "ratio"],
    ...rows.map(({ turn, last, sum }) => [
      String(turn + 1),
      last === undefined ? "–" : number(sum),
      `${sum > 0 ? "↑" : sum < 0 ? "↓" : " "} ${bar(Math.abs(sum) / largest, 12)}`,
      known(last?.advantage),
      known(last?.factor),
      known(last?.ratio),
    ]),
  ]);
}
