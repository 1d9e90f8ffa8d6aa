import { join } from "node:path";
import { writeFileAtomic } from "../../../src/runs/files.ts";
import { runPage } from "./html.ts";
import { asCsv, asParquet, stepTable, trajectoryTable } from "./tables.ts";

export const exportFormats = ["csv", "parquet", "html"] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Writes a run's metrics and its index of trajectories in another format. @returns the files */
export function exportRun(folder: string, format: ExportFormat, into: string): string[] {
  if (format === "html") {
    const path = join(into, "run.html");
    writeFileAtomic(path, runPage(folder));
    return [path];
  }
  const encode = format === "csv" ? asCsv : asParquet;
  return [["steps", stepTable(folder)] as const, ["trajectories", trajectoryTable(folder)] as const].map(([name, table]) => {
    const path = join(into, `${name}.${format}`);
    writeFileAtomic(path, encode(table));
    return path;
  });
}
