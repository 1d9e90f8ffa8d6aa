import { whileOpen } from "../../environments/lifetime.ts";
import { modelFolder, openModel, samplingUse } from "../../sdk/model.ts";
import { environmentOf } from "../../sdk/train.ts";
import { resolveConfig } from "../../training/config.ts";
import { loadConfigFile } from "../../training/config-file.ts";
import { evaluate } from "../../training/evaluation/evaluate.ts";
import { succeeded } from "../../training/rollout-metrics.ts";
import { checkSplit } from "../../training/tasks.ts";
import { episodeLines } from "../conversation.ts";
import { showDownload } from "../download.ts";
import { bar, count, duration, interval, percent, plural, table } from "../format.ts";
import { interruptedExitCode, listenForInterrupt } from "../interrupt.ts";
import { advance, measures, nothingYet, statusLine } from "../progress.ts";
import { byTurns } from "../report.ts";
import type { Screen } from "../screen.ts";
import { evaluationFlags, type SettingValues, settingsOf } from "../settings.ts";

/** Measures a model on tasks of a split. @returns the exit code */
export async function evalCommand(flags: SettingValues, screen: Screen): Promise<number> {
  const user = await loadConfigFile(flags.config);
  const config = resolveConfig(user, settingsOf(evaluationFlags, flags));
  const environment = environmentOf(config, user);
  const { split, tasks, k, temperature } = config.evaluation;
  await checkSplit(environment, "evaluation.split", split);
  const folder = await showDownload(config.model, screen, (onDownload) => modelFolder(config, onDownload, samplingUse(config)));
  const total = Math.min(tasks, await environment.size(split)) * k;
  screen.line(`Evaluating ${folder} in "${environment.name}": ${plural(tasks, `${split} task`)}, ${plural(k, "attempt")} each`);

  const interrupt = listenForInterrupt(() => screen.clear());
  const { engine, chat, device } = await openModel(
    folder,
    config.engine,
    { use: samplingUse(config), seed: config.seed },
    config.chat,
  );
  if (device !== "cpu") screen.line(`Computing on ${device}`);
  const seconds = () => performance.now() / 1000;
  const started = seconds();
  let progress = advance(nothingYet, { type: "phase", phase: "evaluate", step: 0, total }, started);
  let tokens = 0;
  try {
    const { record, trajectories } = await whileOpen(environment, () =>
      evaluate(engine, chat, environment, {
        ...{ when: "after", step: 0, split, tasks, k, temperature, rollout: config.rollout, seed: config.seed },
        signal: interrupt.signal,
        onTrajectory: ({ turns }) => {
          tokens += turns.reduce((sum, { action }) => sum + action.length, 0);
          progress = advance(
            progress,
            { type: "progress", phase: "evaluate", done: progress.done + 1, total, tokens },
            seconds(),
          );
          screen.status(statusLine(progress, seconds()));
        },
      }),
    );
    screen.clear();
    if (interrupt.signal.aborted) {
      screen.line("Interrupted: nothing was measured.");
      return interruptedExitCode;
    }
    const { paint, width } = screen;
    for (const { name, text } of measures(record))
      screen.line(`${name.padEnd(9)}${name === "success" ? `${paint.green(bar(record.mean, 30))} ` : ""}${text}`);
    for (const pass of record.mean === 0 && record.reward.mean !== 0 ? [] : record.passAt)
      screen.line(`pass@${pass.k}`.padEnd(9) + interval(pass));
    screen.line(
      `${record.meanTurns.toFixed(1)} turns on average, ${plural(record.toolCalls, "tool call")}, ${duration(seconds() - started)}`,
    );
    screen.line(
      `ended: ${Object.entries(record.stopReasons)
        .map(([reason, n]) => `${reason} ${count(n)}`)
        .join(", ")}`,
    );
    for (const [name, parts] of [
      ["kind of request", record.byKind],
      ["requests", record.byRequests],
      ["turns taken", byTurns(record.byTurns)],
    ] as const) {
      if (parts.length < 2) continue;
      screen.line();
      const rows = parts.map((part) => [part.name, percent(part.success), count(part.attempts)]);
      for (const line of table([[name, "success", "attempts"], ...rows])) screen.line(line);
    }
    const failed = trajectories.find((trajectory) => !succeeded(trajectory));
    if (failed !== undefined) {
      screen.line();
      screen.line(paint.bold("An episode that it fails"));
      for (const line of episodeLines(failed, paint, width)) screen.line(line);
    }
    return 0;
  } finally {
    screen.clear();
    interrupt.release();
    await engine.dispose();
  }
}
