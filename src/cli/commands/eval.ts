import type { Evaluated, EvaluateOptions } from "../../sdk/evaluate.ts";
import { resolvePlayed } from "../../sdk/run-environment.ts";
import { plural } from "../../terminal/format.ts";
import { interruptedExitCode } from "../../terminal/interrupt.ts";
import { commandPrefix, quoted, shownPath } from "../../terminal/invocation.ts";
import type { Screen } from "../../terminal/screen.ts";
import { loadConfigFile } from "../../training/config/config-file.ts";
import { shownEpisodes } from "../conversation.ts";
import { costLines, evaluationLines, evaluationNotes, tableLines } from "../evaluation-lines.ts";
import { measure } from "../measure.ts";
import { evaluationFlags, settingsOf } from "../settings.ts";
import type { EvalFlags } from "./eval-flags.ts";

/** Measures a model on tasks of a split, or compares two. @returns the exit code */
export async function evalCommand(
  flags: EvalFlags,
  output: Screen,
  notes: Screen,
  { judge }: Pick<EvaluateOptions, "judge"> = {},
): Promise<number> {
  const user = await loadConfigFile(flags.config);
  const screen = flags.json === true ? notes : output;
  if (flags.compare !== undefined) {
    const { compareCommand } = await import("./eval-compare.ts");
    return compareCommand(flags.compare, flags, user, output, screen);
  }
  const config = resolvePlayed(user, settingsOf(evaluationFlags, flags));
  const measured = await measure(config, user, flags.resume === true, screen, judge);
  if (measured === undefined) return interruptedExitCode;
  if (flags.json === true) output.line(JSON.stringify({ folder: measured.folder, ...measured.report }, null, 2));
  else showEvaluation(measured, flags.show, screen);
  return 0;
}

function showEvaluation({ folder, report, trajectories }: Evaluated, show: string | undefined, screen: Screen): void {
  const { paint, width } = screen;
  const greedyFirst = report.evaluations.toSorted((a, b) => a.decoding.localeCompare(b.decoding));
  for (const record of greedyFirst) for (const line of evaluationLines(record, paint)) screen.line(line);
  // Tables are of the evaluation with the most episodes.
  const [most] = report.evaluations;
  if (most !== undefined) for (const line of tableLines(most)) screen.line(line);
  for (const line of costLines(report)) screen.line(line);
  const refused = trajectories.filter(({ stopReason }) => stopReason === "actor-error");
  const [first] = refused;
  if (first !== undefined)
    screen.line(
      paint.yellow(`The server refused ${plural(refused.length, "conversation")}, which have no score: ${first.error}`),
    );
  for (const note of evaluationNotes(trajectories)) screen.line(paint.yellow(note));
  for (const line of shownEpisodes(trajectories, show, paint, width)) screen.line(line);
  screen.line();
  screen.line(`${shownPath(folder)}: report.md, report.json, and every episode`);
  screen.line(`Compare: ${commandPrefix()} eval --compare ${quoted(shownPath(folder))} OTHER`);
}
