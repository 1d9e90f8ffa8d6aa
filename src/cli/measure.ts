import { CompletionError } from "../completions/errors.ts";
import { type Evaluated, type EvaluationEvent, evaluateConfig } from "../sdk/evaluate.ts";
import { plural } from "../terminal/format.ts";
import { listenForInterrupt } from "../terminal/interrupt.ts";
import { quoted, shownPath } from "../terminal/invocation.ts";
import { advance, nothingYet, statusLine } from "../terminal/progress.ts";
import type { Screen } from "../terminal/screen.ts";
import type { TrainingConfig } from "../training/config/settings.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { showDownload } from "./download.ts";
import { reportPage } from "./evaluation-lines.ts";

/**
 * Evaluates a model into a folder and shows its progress.
 * @returns undefined if it was interrupted
 */
export async function measure(
  config: TrainingConfig,
  user: UserConfig,
  resume: boolean,
  screen: Screen,
): Promise<Evaluated | undefined> {
  const interrupt = listenForInterrupt(() => screen.clear());
  const show = evaluationDisplay(screen);
  let folder: string | undefined;
  try {
    return await evaluateConfig(config, user, {
      ...{ resume, signal: interrupt.signal },
      download: (fetch) => showDownload(config.model, screen, fetch),
      page: reportPage,
      onEvent: (event) => {
        if (event.type === "started") folder = event.folder;
        show(event);
      },
    });
  } catch (error) {
    if (folder === undefined) throw error;
    if (!interrupt.signal.aborted) throw continuable(error, folder);
    screen.line(`Interrupted. Episodes that have ended are kept in ${shownPath(folder)}`);
    screen.line(`Continue: the same command with --resume --out ${quoted(shownPath(folder))}`);
    return undefined;
  } finally {
    screen.clear();
    interrupt.release();
  }
}

/** Shows how far an evaluation is, in one line that is written over. */
function evaluationDisplay(screen: Screen): (event: EvaluationEvent) => void {
  const seconds = () => performance.now() / 1000;
  let progress = nothingYet;
  return (event) => {
    switch (event.type) {
      case "started":
        return screen.line(`Evaluating ${event.player} in "${event.environment}": ${plural(event.tasks, `${event.split} task`)}`);
      case "notice":
        return screen.line(event.message);
      case "warning":
        return screen.line(screen.paint.yellow(`warning: ${event.message}`));
      case "played": {
        const { done, total, tokens } = event;
        if (done === 0) {
          screen.clear();
          progress = advance(nothingYet, { type: "phase", phase: "evaluate", step: 0, total }, seconds());
          return undefined;
        }
        progress = advance(progress, { type: "progress", phase: "evaluate", done, total, tokens }, seconds());
        return screen.status(statusLine(progress, seconds()));
      }
    }
  };
}

/** An endpoint that fails in the end costs only the episodes in flight. */
function continuable(error: unknown, folder: string): unknown {
  if (!(error instanceof CompletionError)) return error;
  const { subject, value, expected, hint, failure } = error;
  return new CompletionError(subject, value, failure, {
    expected,
    hint: `${hint ?? ""} What is done is kept: the same command with --resume --out ${quoted(shownPath(folder))} continues.`.trim(),
    cause: error,
  });
}
