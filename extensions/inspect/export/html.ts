import { endingLine } from "../../../src/cli/conversation.ts";
import { isScored, succeeded } from "../../../src/core/outcome.ts";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import {
  readEpisodes,
  readEvaluations,
  readMetrics,
  readRun,
  readTrajectories,
  trajectorySteps,
} from "../../../src/runs/read.ts";
import { shownPath } from "../../../src/terminal/invocation.ts";
import { evaluationLine } from "../../../src/terminal/progress.ts";
import { article, escaped, htmlPage } from "../html-page.ts";
import { polyline, svg, text } from "../svg.ts";

/** Limits by which a page of any run is small enough to send: episodes of each outcome, messages of an episode, letters of a text. */
const most = { episodes: 6, messages: 40, letters: 4000 };

/** Returns a run as one page: its settings, evaluations, curve, warnings, and some episodes, failures first. */
export function runPage(folder: string): string {
  const { config, version, created } = readRun(folder);
  const steps = readMetrics(folder);
  const evaluations = readEvaluations(folder);
  const warnings = [
    ...steps.map(({ step, warnings: said = [] }) => ({ where: `step ${step}`, said })),
    ...evaluations.map(({ when, step, split, warnings: said = [] }) => ({ where: `${split} ${when}, step ${step}`, said })),
  ].flatMap(({ where, said }) => said.map((warning) => ({ where, ...warning })));
  const newest = new Map(warnings.map((warning) => [warning.rule, warning])); // each as it was last said
  const episodes = lastEpisodes(folder);
  const [failed, passed] = [episodes.filter((each) => !passes(each)), episodes.filter(passes)];
  const list = (items: readonly string[]) =>
    items.length === 0 ? "" : `<ul>${items.map((item) => `<li>${item}</li>`).join("\n")}</ul>`;
  const parts = [
    `<p>${escaped(`retrograde-rl ${version}, ${created.slice(0, 10)}, ${steps.length} of ${String(config.steps)} steps`)}</p>`,
    list(evaluations.map((record) => escaped(evaluationLine(record)))),
    curve(steps.map(({ metrics }) => metrics.success ?? metrics.reward ?? null)),
    list([...newest.values()].map(({ where, rule, cause, next }) => escaped(`${rule} (${where}): ${cause} ${next}`))),
    `<p>Last episodes: ${failed.length} without success, ${passed.length} with; the first ${most.episodes} of each.</p>`,
    ...[...failed.slice(0, most.episodes), ...passed.slice(0, most.episodes)].map(details),
    `<details><summary>Settings</summary><pre><code>${escaped(JSON.stringify(config, null, 1))}</code></pre></details>`,
  ];
  return htmlPage(shownPath(folder), parts, `runs show ${shownPath(folder)}`);
}

/** Those of the newest evaluation; else of the last step. */
function lastEpisodes(folder: string): Trajectory[] {
  const newest = readEvaluations(folder).at(-1);
  if (newest !== undefined) return readEpisodes(folder, newest);
  const step = trajectorySteps(folder).at(-1);
  return step === undefined ? [] : readTrajectories(folder, step);
}

const passes = (trajectory: Trajectory) => isScored(trajectory) && succeeded(trajectory);

function details(trajectory: Trajectory): string {
  const { id, task, messages } = trajectory;
  const left = messages.length - most.messages;
  return [
    `<details><summary>${escaped(`${id}, ${task}: ${endingLine(trajectory)}`)}</summary>`,
    ...messages.slice(0, most.messages).map((message) => article(message, most.letters)),
    ...(left > 0 ? [`<p>… ${left} more messages</p>`] : []),
    "</details>",
  ].join("\n");
}

/** Success, or the mean reward, by step. */
function curve(values: readonly (number | null)[]): string {
  const known = values.flatMap((value, i) => (value === null ? [] : [[i, value] as const]));
  if (known.length < 2) return "";
  const [low, high] = [Math.min(0, ...known.map(([, value]) => value)), Math.max(1, ...known.map(([, value]) => value))];
  const points = known.map(
    ([i, value]) => [40 + (540 * i) / (values.length - 1), 170 - (140 * (value - low)) / (high - low)] as const,
  );
  return svg(600, 200, "Success, or mean reward, of training episodes by step", [
    polyline(points, "#2a8a3e"),
    text(34, 174, String(Math.round(low * 100) / 100), "end"),
    text(34, 34, String(Math.round(high * 100) / 100), "end"),
    text(580, 190, `step ${values.length}`, "end"),
  ]);
}
