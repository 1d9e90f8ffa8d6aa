import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../core/errors.ts";
import { errorsLine } from "../../core/outcome.ts";
import { hasLength } from "../../core/present.ts";
import { layout } from "../../runs/layout.ts";
import { readRun } from "../../runs/read.ts";
import { compare, type Evaluated } from "../../sdk/evaluate.ts";
import { requireTrustedWorld, resolvePlayed } from "../../sdk/run-environment.ts";
import { count, detectable, plural, points, pText } from "../../terminal/format.ts";
import { interruptedExitCode } from "../../terminal/interrupt.ts";
import { rewardText } from "../../terminal/progress.ts";
import type { Screen } from "../../terminal/screen.ts";
import type { UserConfig } from "../../training/config/user-config.ts";
import type { OutcomeComparison } from "../../training/evaluation/compare.ts";
import { isEvaluation, readAsked, readReport } from "../../training/evaluation/folder.ts";
import { measureOf } from "../../training/evaluation/scores.ts";
import { evaluationLines } from "../evaluation-lines.ts";
import { measure } from "../measure.ts";
import { type EvalFlags, evaluationFlags, optionName, settingsOf } from "../settings.ts";

type Side = Pick<Evaluated, "folder" | "report">;

/** Compares two models, or two evaluations, on the same tasks and random numbers. @returns the exit code */
export async function compareCommand(
  names: readonly string[],
  flags: EvalFlags,
  user: UserConfig,
  output: Screen,
  screen: Screen,
): Promise<number> {
  if (!hasLength(names, 2)) throw new ConfigError("--compare", names, { expected: "two models, or two folders of evaluations" });
  const named = typeof flags.env === "string" ? flags.env : environmentName(user.environment);
  const [first, second] = [worldOf(names[0]), worldOf(names[1])];
  if (named === undefined && first !== undefined && second !== undefined && JSON.stringify(first) !== JSON.stringify(second))
    throw new ConfigError(`environment of ${names[1]}`, second, {
      expected: `${JSON.stringify(first)}, that of ${names[0]}`,
      hint: "They belong to different worlds. Name the one in which both are measured with --env.",
    });
  const measuredElsewhere = names.find((name) => named !== undefined && isEvaluation(name) && worldOf(name)?.name !== named);
  if (measuredElsewhere !== undefined)
    throw new ConfigError("environment.name", named, {
      expected: `${JSON.stringify(worldOf(measuredElsewhere)?.name)}, in which ${measuredElsewhere} was measured`,
      hint: "Name a model instead of the evaluation, so that it is measured in the other world.",
    });
  const world = named === undefined ? (first ?? second) : undefined;
  if (names.every((name) => isEvaluation(name))) refuseSettings(flags);
  const source = names.find((name) => worldOf(name) !== undefined);
  if (world !== undefined && source !== undefined && !names.every(isEvaluation)) requireTrustedWorld(source);
  const side = (name: string, letter: string) => {
    const out = typeof flags.out === "string" ? join(flags.out, letter) : undefined;
    return sideOf(name, { ...flags, out }, world === undefined ? user : { ...user, environment: world }, screen);
  };
  const a = await side(names[0], "a");
  const b = a && (await side(names[1], "b"));
  if (a === undefined || b === undefined) return interruptedExitCode;
  const { differs, comparisons: compared } = compare(a.folder, b.folder);
  const exitCode = compared.some(({ withheld }) => withheld !== undefined) ? 1 : 0;
  const measured = measureOf([...a.report.evaluations, ...b.report.evaluations]);
  if (flags.json === true) {
    const difference = Object.fromEntries(compared.map(({ decoding, ...each }) => [decoding, each]));
    output.line(JSON.stringify({ a: a.report, b: b.report, measure: measured, differs, difference }, null, 2));
    return exitCode;
  }
  for (const [letter, { report, folder }] of [["A", a] as const, ["B", b] as const]) {
    screen.line(screen.paint.bold(`${letter}  ${report.asked.model} (${folder})`));
    for (const record of report.evaluations) for (const line of evaluationLines(record, screen.paint)) screen.line(`   ${line}`);
  }
  screen.line(screen.paint.bold("B − A, on the same tasks"));
  for (const { decoding, ...comparison } of compared)
    for (const line of comparisonLines(decoding, comparison, measured !== "reward")) screen.line(`   ${line}`);
  const [weights, others] = [a.report.asked.weights, b.report.asked.weights];
  if (weights !== undefined && weights === others) screen.line(screen.paint.yellow("Both have the same weights."));
  if (differs.length > 0) screen.line(screen.paint.yellow(`They differ in ${differs.join("; ")}`));
  return exitCode;
}

/** Settings of a measurement, where nothing is measured. @throws ConfigError naming the first */
function refuseSettings(flags: EvalFlags): void {
  const names = ["set", ...evaluationFlags.map(({ flag }) => optionName(flag)).filter((name) => name !== "env")];
  const unused = names.find((name) => flags[name] !== undefined);
  if (unused === undefined) return;
  throw new ConfigError(`--${unused}`, flags[unused], {
    expected: "not to be given with two evaluations, which are measured already",
    hint: "Name the models to measure them with other settings.",
  });
}

/** The environment that a run or an evaluation was made in; undefined for a model. */
function worldOf(name: string): { readonly name: string; readonly settings: Record<string, unknown> } | undefined {
  if (isEvaluation(name)) return readAsked(name).environment;
  if (!existsSync(layout.run(name))) return undefined;
  const { environment } = readRun(name).config as { environment: { name: string; settings?: Record<string, unknown> } };
  return { name: environment.name, settings: environment.settings ?? {} };
}

function environmentName(environment: UserConfig["environment"]): string | undefined {
  return typeof environment === "string" ? environment : environment?.name;
}

/** @returns undefined if it was interrupted */
async function sideOf(name: string, flags: EvalFlags, user: UserConfig, screen: Screen): Promise<Side | undefined> {
  if (isEvaluation(name)) {
    const report = readReport(name);
    if (report !== undefined) return { folder: name, report };
    throw new ConfigError("--compare", name, {
      expected: "an evaluation that has finished",
      hint: `Finish it with --resume --out ${name}.`,
    });
  }
  // The configuration's folder is that of a run.
  const config = resolvePlayed({ ...user, out: undefined }, { ...settingsOf(evaluationFlags, flags), model: name });
  return measure(config, user, false, screen);
}

function comparisonLines(name: string, { counts, withheld, ...compared }: OutcomeComparison, hasSuccess: boolean): string[] {
  const paired = hasSuccess ? compared.success : compared.reward;
  if (paired === undefined) return [`${name.padEnd(10)}${withheld}`];
  const { pValue, exact, better, worse, smallest, tasks, difference } = paired;
  const errors = errorsLine(counts, ["A", "B"]);
  const text = hasSuccess ? points(difference) : rewardText(difference);
  return [
    `${name.padEnd(10)}${text}, ${pText(pValue)} (${exact ? "exact" : "simulated"})`,
    `${"".padEnd(10)}${plural(better, "task")} better, ${count(worse)} worse of ${count(tasks)}; ${detectable(smallest, hasSuccess)}`,
    ...(errors === undefined ? [] : [`${"".padEnd(10)}${errors}`]),
  ];
}
