import type { Estimate } from "../../src/statistics/estimate.ts";
import type { ArmResult, WorldResult } from "./analysis.ts";
import { partOf, ratesOf, type Study } from "./definition.ts";
import type { ContrastResult, QuestionResult } from "./questions.ts";
import { fallLevel, fallOf, goodWithin, rivalRate } from "./tuning.ts";

export interface PageParts {
  readonly study: Study;
  readonly worlds: readonly WorldResult[];
  readonly answers: readonly QuestionResult[];
  /** Links from the page: of the folder with the results, of the page with all tables, and of the figure of each question. */
  readonly results: string;
  readonly tables: string;
  readonly figures: ReadonlyMap<string, string>;
  /** The command that does what is missing. */
  readonly command: string;
}

/** Writes a study's page: its questions. Every number in it is computed from the outcomes, so that text and results cannot part. */
export function pageLines({ study, worlds, answers, results, tables, figures, command }: PageParts): string[] {
  return [
    `# ${study.title}`,
    "",
    `*Written by \`${command} --report\` from the runs in [\`${results}\`](${results}). Edits are lost.*`,
    "",
    study.question,
    "",
    ...study.about.flatMap((paragraph) => [paragraph, ""]),
    ...questionLines(study, answers, figures),
    ...differenceLines(study),
    "## Worlds",
    "",
    ...worlds.map((world) => `- ${stateOf(study, world)}`),
    "",
    `[All arms in all worlds](${tables}): curves, rates, ends.`,
    "",
    "## How to read the tables",
    "",
    ...explanations.map((line) => `- ${line}`),
    "",
    "## Limitations",
    "",
    ...study.limitations.map((line) => `- ${line}`),
    "",
    "## How to reproduce",
    "",
    `    ${command} --dry-run     # arms, runs, hours`,
    `    ${command}               # what is missing; the same command continues`,
    `    ${command} --report      # this page from the runs that are there`,
    "",
    `Data: \`${results}/outcomes.jsonl\` has a line for each run with the value of every task, \`runs.csv\` a row for each, \`results.json\` what this page says.`,
    "",
  ];
}

/** Writes the page with the tables of all arms, by world. @param figures of each world, as links from it */
export function tableLines(
  { study, worlds, command }: Pick<PageParts, "study" | "worlds" | "command">,
  figures: ReadonlyMap<string, readonly string[]>,
): string[] {
  return [
    `# ${study.title} All arms`,
    "",
    `*Written by \`${command} --report\`. Edits are lost.*`,
    "",
    ...worlds.filter(({ done }) => done.tuning > 0).flatMap((world) => worldLines(study, world, figures.get(world.world) ?? [])),
    "## How to read the tables",
    "",
    ...tableExplanations(study).map((line) => `- ${line}`),
    "",
  ];
}

function differenceLines({ differences }: Study): string[] {
  if (differences.length === 0) return [];
  return [
    "## Where the set-up differs from the published one",
    "",
    ...table([["what", "published", "here", "why"], ...differences]),
    "",
  ];
}

function stateOf(study: Study, { world, title, planned, done, atOtherRates, arms }: WorldResult): string {
  const { about, pending } = partOf(study, "worlds", world);
  const rates = new Set(arms.flatMap((arm) => arm.rates.map(({ rate }) => rate)));
  const untried = ratesOf(study, world).filter((rate) => !rates.has(rate));
  const empty = arms.filter(({ rates }) => rates.length === 0).map(({ title }) => title);
  return [
    `**${title}.** ${about}`,
    pending === undefined ? "" : `${done.tuning + done.reported === 0 ? "Not started" : "No more can start"}: ${pending}`,
    `${done.tuning + done.reported} of ${planned.tuning + planned.reported} planned runs are done: ` +
      `${done.tuning} of ${planned.tuning} that choose rates, ${done.reported} of ${planned.reported} that are reported.`,
    done.tuning > 0 && untried.length > 0 ? `Not tried at any arm: the learning rates ${untried.join(", ")}.` : "",
    done.tuning > 0 && empty.length > 0 ? `Without any run: ${empty.join("; ")}.` : "",
    atOtherRates > 0 ? `${atOtherRates} more ran at other rates, for questions: the tables of all arms do not count them.` : "",
  ]
    .filter((sentence) => sentence !== "")
    .join(" ");
}

function worldLines(study: Study, world: WorldResult, figures: readonly string[]): string[] {
  const reported = world.arms.filter(({ sampled }) => sampled !== undefined);
  return [
    `## Results in ${world.title}`,
    "",
    ...figures.flatMap((figure) => [`![${world.title}](${figure})`, ""]),
    ...(reported.length === 0 ? ["No reported run is done.", ""] : [...armTable(reported), ""]),
    "### Learning rates",
    "",
    ...rateTable(ratesOf(study, world.world), world.arms),
    "",
    ...rivalLines(world.arms),
  ];
}

function armTable(arms: readonly ArmResult[]): string[] {
  return table([
    [
      "arm",
      "rate",
      "seeds",
      "at the start",
      "sampled",
      "greedy",
      "area over episodes",
      "fell",
      "survived",
      "optimiser steps a batch",
    ],
    ...arms.map((arm) => [
      arm.title,
      String(arm.rate),
      String(arm.seeds.length),
      interval(arm.curve?.[0]?.value),
      interval(arm.sampled),
      interval(arm.greedy),
      interval(arm.area),
      `${arm.fell} of ${arm.seeds.length}`,
      `${arm.survived} of ${arm.seeds.length}`,
      (arm.optimiserSteps ?? 0).toFixed(1),
    ]),
  ]);
}

function rateTable(all: readonly number[], arms: readonly ArmResult[]): string[] {
  const tried = arms.filter(({ rates }) => rates.length > 0);
  return table([
    ["arm", ...all.map(String), "good range", "largest rate at which all survive"],
    ...tried.map(({ title, rates, rate, stability }) => [
      title,
      ...all.map((wanted) => {
        const result = rates.find((one) => one.rate === wanted);
        if (result === undefined) return "–";
        const cell = `${points(result.final)}, ${result.survived} of ${result.runs}`;
        return wanted === rate ? `**${cell}**` : cell;
      }),
      stability?.largestSurviving === undefined
        ? "–"
        : `${stability.openBelow ? "≤ " : ""}${stability.goodFrom} to ${stability.openAbove ? "≥ " : ""}${stability.goodTo}: ` +
          `× ${stability.openBelow || stability.openAbove ? "≥ " : ""}${Number((stability.goodTo / stability.goodFrom).toPrecision(2))}`,
      String(stability?.largestSurviving ?? "none"),
    ]),
  ]);
}

/** Says which arms might have got another rate: what is found of them below may be a finding on the rate. */
function rivalLines(arms: readonly ArmResult[]): string[] {
  const close = arms.flatMap(({ title, rates, rate }) => {
    const rival = rivalRate(rates);
    return rival === undefined ? [] : [`${title}: ${rate} before ${rival.rate} by ${points(rival.behind)}`];
  });
  if (close.length === 0) return [];
  return [
    `**Rates that tuning hardly distinguishes**, by at most ${points(goodWithin)} points: ${close.join("; ")}. Other tuning seeds may choose the other rate, ` +
      "so a difference of such an arm may be one of rates.",
    "",
  ];
}

/** The questions with their primaries and what else the runs show, before everything else. */
function questionLines(study: Study, answers: readonly QuestionResult[], figures: PageParts["figures"]): string[] {
  return answers.flatMap(({ question, contrasts }) => {
    const { title, answer, ask, missing } = partOf(study, "questions", question);
    const figure = figures.get(question);
    const run = contrasts.filter(({ seeds, role }) => seeds.length > 0 || role === "primary");
    const notRun = contrasts.filter((contrast) => !run.includes(contrast)).map((contrast) => contrastTitle(contrast));
    return [
      `## ${title}`,
      "",
      `**${answer}**`,
      "",
      ...(figure === undefined ? [] : [`![${title}](${figure})`, ""]),
      ask,
      "",
      ...table([
        ["", "compared", "seeds", "rates", "first", "second", "relative", "difference, points", "p"],
        ...run.map((contrast) => [contrast.role === "primary" ? "**primary**" : contrast.role, ...contrastCells(contrast)]),
      ]),
      "",
      ...(notRun.length === 0 ? [] : ["**Planned, not run:**", "", ...notRun.map((title) => `- ${title}`), ""]),
      ...(missing === undefined ? [] : [`**Not there yet.** ${missing}`, ""]),
    ];
  });
}

function contrastCells(contrast: ContrastResult): string[] {
  const { outcome, seeds, split, rates, values, difference, pValue } = contrast;
  const tried = seeds.length === 0 ? "not run" : `${seeds.length}${split === "validation" ? ", tuning" : ""}`;
  const [more, less] = values ?? [];
  const relative = more === undefined || less === undefined || less === 0 || outcome === "fell" ? "–" : signed(more / less - 1);
  return [
    contrastTitle(contrast),
    tried,
    rates.map((rate) => rate ?? "–").join(", "),
    more === undefined ? "–" : points(more),
    less === undefined ? "–" : points(less),
    relative === "–" ? relative : `${relative} %`,
    interval(difference),
    pValue === undefined ? "–" : pValue < 0.001 ? "< 0.001" : pValue.toFixed(3),
  ];
}

const outcomeWords = {
  sampled: "",
  greedy: " (greedy)",
  fell: " (runs that fell)",
} as const;

function contrastTitle({ title, outcome }: ContrastResult): string {
  return title + outcomeWords[outcome];
}

function signed(share: number): string {
  return `${share < 0 ? "" : "+"}${(share * 100).toFixed(0).replace("-", "−")}`;
}

const explanations: readonly string[] = [
  `Values are success, in per cent; brackets are 95 % intervals over seeds and tasks together (crossed, two-way variance; never narrower than over tasks alone).`,
  "A question's primary is tested first, with five seeds at least (two primaries: both, each at p < 0.025); the rows “in sequence” are tested in turn, each only if those before it held (p < 0.05), and are “not looked at” otherwise; the other rows describe. Rows are paired by seed and task; the variance over seeds and that over tasks have each its own t. " +
    "“Tuning” marks rows of tuning seeds, on validation tasks. Relative is first over second, less one.",
  `A run *fell* if a point of its held-out curve is more than ${points(fallOf)} points below an earlier one, and by more than chance (sign-flip test over the tasks, p < ${fallLevel}).`,
  "*Area* is the mean height of the held-out curve up to what every run has spent.",
];

function tableExplanations({ rates, tuningSeeds }: Study): string[] {
  return [
    "With one seed an interval is over its tasks alone, and says nothing of other seeds: it is then too narrow.",
    `Rates are chosen by the mean sampled value at the end of tuning runs on validation tasks, of which ${tuningSeeds.length} a rate are planned. The rate table has this value for each of the ${rates.length} rates, ` +
      "and how many of its runs survived; the chosen rate is bold. An arm whose best rate is the first or last one tried may have a better one outside.",
    "A rate of which a tuning run fell is not chosen; a tuning run ends where it falls.",
    "A run *survived* if it ended by itself, did not fall and ended no lower than it began. A run that the engine stopped counts as 0 from there on.",
    `The good range has the rates around the best one whose value is within ${points(goodWithin)} points of it; ≤ and ≥ mark a range that reaches the last rate that was tried.`,
    "The curve, and what it has at the start, is of sampled attempts at the first tasks of the split.",
  ];
}

/** A table in Markdown. */
function table([head, ...rows]: readonly [readonly string[], ...(readonly string[])[]]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}

function interval(estimate: Estimate | undefined): string {
  if (estimate === undefined) return "–";
  return `${points(estimate.mean)} [${points(estimate.low)}, ${points(estimate.high)}]`;
}

/** 0.123 as "12.3", with a true minus. */
function points(share: number): string {
  return (share * 100).toFixed(1).replace("-", "−");
}
