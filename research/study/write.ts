import { basename, dirname, join, relative } from "node:path";
import { mean } from "../../src/core/mean.ts";
import { writeFileAtomic } from "../../src/runs/files.ts";
import { analyse } from "./analysis.ts";
import { isTuning, partOf, type Study } from "./definition.ts";
import { curvesSvg, questionSvg, ratesSvg } from "./figures.ts";
import { endsOf, type RunOutcome } from "./outcome.ts";
import { pageLines, tableLines } from "./page.ts";
import { answers } from "./questions.ts";
import { readOutcomes, studyLayout } from "./store.ts";
import { fell, lastValues, survived } from "./tuning.ts";
import { wrapMarkdown } from "./wrap.ts";

/**
 * Writes what the outcomes say: the table, the results, figures and the page.
 * @param command that runs the study, for the page
 * @returns the paths that were written
 * @throws RunError where an outcome is damaged or of another plan
 */
export function writeStudy(study: Study, folder: string, command: string): string[] {
  const outcomes = readOutcomes(study, folder);
  const worlds = Object.keys(study.worlds).map((world) => analyse(study, world, outcomes));
  const answered = answers(study, outcomes);
  const page = study.page ?? join(folder, "README.md");
  const figureFolder = study.page === undefined ? folder : page.replace(/\.md$/, "");
  const figures = worlds
    .filter(({ done }) => done.tuning > 0)
    .map((world) => ({
      world: world.world,
      files: [
        { path: join(figureFolder, `${world.world}-episodes.svg`), content: curvesSvg(world) },
        { path: join(figureFolder, `${world.world}-rates.svg`), content: ratesSvg(study, world) },
      ],
    }));
  const questionFigures = answered
    .filter(({ contrasts }) => contrasts.some(({ seeds }) => seeds.length > 0))
    .map(({ question, contrasts }) => ({
      question,
      path: join(figureFolder, `${question}.svg`),
      content: questionSvg(partOf(study, "questions", question).title, contrasts),
    }));
  const tables = join(figureFolder, "tables.md");
  const fromPage = (path: string) => relative(dirname(page), path).replaceAll("\\", "/");
  const lines = pageLines({
    ...{ study, worlds, answers: answered, command, results: fromPage(folder) || ".", tables: fromPage(tables) },
    figures: new Map(questionFigures.map(({ question, path }) => [question, fromPage(path)])),
  });
  const inTables = new Map(figures.map(({ world, files }) => [world, files.map(({ path }) => basename(path))]));
  const files = [
    { path: studyLayout.table(folder), content: tableOf(study, outcomes) },
    {
      path: studyLayout.results(folder),
      content: `${JSON.stringify({ study: study.name, questions: answered, worlds }, rounded, 1)}\n`,
    },
    ...figures.flatMap(({ files }) => files),
    ...questionFigures,
    { path: page, content: wrapMarkdown(lines.join("\n")) },
    { path: tables, content: wrapMarkdown(tableLines({ study, worlds, command }, inTables).join("\n")) },
  ];
  for (const { path, content } of files) writeFileAtomic(path, content);
  return files.map(({ path }) => path);
}

/** A line for each run, to be read by any program. */
export function tableOf(study: Study, outcomes: readonly RunOutcome[]): string {
  const columns: readonly (readonly [string, (run: RunOutcome) => string | number])[] = [
    ["world", ({ world }) => world],
    ["arm", ({ arm }) => arm],
    ["rate", ({ rate }) => rate],
    ["seed", ({ seed }) => seed],
    ["purpose", (run) => (isTuning(study, run) ? "tuning" : "reported")],
    ["steps", (run) => endsOf(run.curve).end.steps],
    ["episodes", (run) => endsOf(run.curve).end.episodes],
    ["tool_calls", (run) => endsOf(run.curve).end.toolCalls],
    ["sampled_tokens", (run) => endsOf(run.curve).end.sampledTokens],
    ["optimiser_steps", ({ optimiserSteps }) => optimiserSteps],
    ["start", ({ curve }) => mean(endsOf(curve).start.values).toFixed(4)],
    ["sampled", (run) => mean(lastValues(run)).toFixed(4)],
    ["greedy", ({ final }) => (final.greedy === undefined ? "" : mean(final.greedy).toFixed(4))],
    ["fell", (run) => Number(fell(run))],
    ["survived", (run) => Number(survived(run))],
    ["ended", ({ ended }) => Number(ended === true)],
    ["collapsed", ({ collapsed }) => Number(collapsed !== undefined)],
    ["cpu_seconds", ({ cpuSeconds }) => cpuSeconds],
  ];
  return `${[columns.map(([name]) => name), ...outcomes.map((run) => columns.map(([, of]) => of(run)))]
    .map((row) => row.join(","))
    .join("\n")}\n`;
}

/** Six digits are more than is known. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
}
