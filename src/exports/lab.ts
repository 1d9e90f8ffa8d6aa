/** `retrograde-rl/lab`: which combinations of advantage, update, level, order and M converge, with exact expectations. */
export { allCells, type Cell, cellOf, idOf } from "../lab/cell.ts";
export { type LabSettings, labSettingsSchema } from "../lab/config.ts";
export { type CellResult, judge, type Laboratory, laboratory, runGrid, type Verdict } from "../lab/grid.ts";
export { reportJson } from "../lab/report.ts";
