import { existsSync } from "node:fs";
import { runTraining } from "../../src/cli/commands/train.ts";
import { layout } from "../../src/runs/layout.ts";
import { readSummary } from "../../src/runs/read.ts";
import type { Screen } from "../../src/terminal/screen.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";

/** A run of a recipe: its configuration, its folder, and the model that it begins with. */
export interface Stage {
  readonly config: UserConfig;
  readonly folder: string;
  readonly model: string;
}

/** Runs stages one after the other. Those that have ended are passed over, and one that was stopped continues. @returns the exit code of the last */
export async function runStages(
  stages: readonly Stage[],
  screen: Screen,
  run: typeof runTraining = runTraining,
): Promise<number> {
  for (const { config, folder, model } of stages) {
    const isBegun = existsSync(layout.run(folder));
    if (isBegun && readSummary(folder) !== undefined) continue;
    const flags = { resume: isBegun, dashboard: false };
    const code = await run({ ...config, model, out: folder }, { out: folder }, flags, screen);
    if (code !== 0) return code;
  }
  return 0;
}
