import { table } from "../../../src/terminal/format.ts";
import { allCells, columns, rows } from "../cell.ts";
import { type LabSettings, settings as whole } from "../config.ts";
import { judge, type Verdict } from "../experiment.ts";

const perCent = (share: number) => String(Math.round(100 * share));

/** The questions that the lab is asked, about the updates that SeeUPO is one of. */
const questions: readonly (readonly [question: string, of: (verdict: Verdict) => string])[] = [
  ["DOES ANY ORDER LOWER J? Per cent of problems in which an update did", ({ fell }) => perCent(fell)],
  ["WHO REACHES J*? Per cent of problems that ended within 1 % of it", ({ reached }) => perCent(reached)],
  [
    "HOW FAST? Updates until half of the problems were within 1 % of J*; never: –",
    ({ updatesToReach }) => String(updatesToReach ?? "–"),
  ],
];

/** Runs every cell. @returns a table for each question, with a row for each sight and operator, and a column for each order and M; or JSON */
export function labLines({ json = false }: { readonly json?: boolean }, settings: LabSettings = whole): string[] {
  const cells = allCells();
  const verdicts = cells.map((cell) => judge(cell, settings));
  if (json) return [JSON.stringify({ format: "retrograde-lab/3", settings, cells: verdicts })];
  const { sizes, problems, updates, seed } = settings;
  return [
    `${cells.length} combinations; advantages R − J, ratios of turns. Seed ${seed}, ${sizes.length * problems} problems of two turns, ${updates} updates`,
    ...questions.flatMap(([question, of]) => ["", question, ...table(tableRows(verdicts.map(of)))]),
  ];
}

function tableRows(values: readonly string[]): string[][] {
  return [
    ["", ...columns.map(({ order }) => order)],
    ["a turn sees, operator; M:", ...columns.map(({ carry }) => (carry === "off" ? "–" : carry))],
    ...rows.map(({ knows, sees, optimise }, i) => [
      `${sees}, ${optimise}${knows === "groups" ? ", groups" : ""}`,
      ...values.slice(i * columns.length, (i + 1) * columns.length),
    ]),
  ];
}
