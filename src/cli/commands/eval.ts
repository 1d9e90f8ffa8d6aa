import type { Evaluated } from "../../sdk/evaluate.ts";
import { resolvePlayed } from "../../sdk/run-environment.ts";
import { interruptedExitCode } from "../../terminal/interrupt.ts";
import { commandPrefix, quoted, shownPath } from "../../terminal/invocation.ts";
import type { Screen } from "../../terminal/screen.ts";
import { loadConfigFile } from "../../training/config/config-file.ts";
import { shownEpisodes } from "../conversation.ts";
import { evaluatedLines } from "../evaluation-lines.ts";
import { measure } from "../measure.ts";
import { type EvalFlags, evaluationFlags, settingsOf } from "../settings.ts";

/** Measures a model on tasks of a split, or compares two. @returns the exit code */
export async function evalCommand(flags: EvalFlags, output: Screen, notes: Screen): Promise<number> {
  const user = await loadConfigFile(flags.config);
  const screen = flags.json === true ? notes : output;
  if (flags.compare !== undefined) {
    const { compareCommand } = await import("./eval-compare.ts");
    return compareCommand(flags.compare, flags, user, output, screen);
  }
  const config = resolvePlayed(user, settingsOf(evaluationFlags, flags));
  const measured = await measure(config, user, flags.resume === true, screen);
  if (measured === undefined) return interruptedExitCode;
  if (flags.json === true) output.line(JSON.stringify({ folder: measured.folder, ...measured.report }, null, 2));
  else showEvaluation(measured, flags.show, screen);
  return 0;
}

function showEvaluation({ folder, report, trajectories }: Evaluated, show: string | undefined, screen: Screen): void {
  const { paint, width } = screen;
  for (const line of evaluatedLines(report, trajectories, paint)) screen.line(line);
  for (const line of shownEpisodes(trajectories, show, paint, width)) screen.line(line);
  screen.line();
  screen.line(`${shownPath(folder)}: report.txt, report.json, and every episode`);
  screen.line(`Compare: ${commandPrefix()} eval --compare ${quoted(shownPath(folder))} OTHER`);
}
