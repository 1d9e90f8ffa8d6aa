import { interval, percent, plural, points, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { type AgainstReport, type SeedsChange, seedsAgainst, seedsReport } from "../seeds.ts";

/** Several training seeds of one configuration as means with intervals; with `against` the same seeds of another beside them. */
export function runsSeedsCommand(
  folders: readonly string[],
  { against = [], json }: { readonly against?: readonly string[]; readonly json?: boolean },
  screen: Screen,
): void {
  const report = seedsReport(folders);
  const compared = against.length === 0 ? [] : seedsAgainst(folders, against);
  if (json === true) {
    screen.line(JSON.stringify({ ...report, ...(against.length === 0 ? {} : { against: compared }) }, null, 2));
    return;
  }
  screen.line(
    screen.paint.bold(`${plural(report.seeds.length, "seed")}: ${report.seeds.join(", ")}. 95 % intervals over seeds and tasks`),
  );
  if (report.seeds.length === 1) screen.line("One seed says nothing of others: its interval is that of the tasks.");
  for (const change of report.changes) for (const line of changeLines(change)) screen.line(line);
  for (const line of compared.flatMap(againstLines)) screen.line(line);
}

function changeLines({ split, decoding, before, after, change, behaviours }: SeedsChange): string[] {
  const rows = behaviours.map(({ name, before: first, after: last }) => [name, percent(first), percent(last)]);
  return [
    "",
    `${split}, ${decoding}: ${plural(after.tasks, "task")}`,
    `  before  ${interval(before.success)}`,
    `  after   ${interval(after.success)}  by seed ${after.perSeed.map(percent).join(", ")}`,
    `  change  ${points(change.success)}`,
    ...(rows.length === 0 ? [] : table([["behaviour", "before", "after"], ...rows]).map((line) => `  ${line}`)),
  ];
}

function againstLines({ split, decoding, first, second, difference }: AgainstReport): string[] {
  return [
    "",
    `after training, ${split}, ${decoding}`,
    `  first    ${interval(first.success)}`,
    `  against  ${interval(second.success)}  by seed ${second.perSeed.map(percent).join(", ")}`,
    `  against − first  ${points(difference.success)}, paired by seed and task`,
  ];
}
