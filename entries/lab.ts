/** `retrograde-rl/lab`: which combinations of advantage, update, level, order and M converge, with exact expectations. */
export { allCells, type Cell, cellOf, idOf } from "../extensions/lab/cell.ts";
export { type LabSettings, labSettingsSchema } from "../extensions/lab/config.ts";
export { type CellResult, judge, type Laboratory, laboratory, runGrid, type Verdict } from "../extensions/lab/grid.ts";
