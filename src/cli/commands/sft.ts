import { existsSync } from "node:fs";
import { layout } from "../../runs/layout.ts";
import { conversationsAlone } from "../../sdk/run-environment.ts";
import type { Screen } from "../../terminal/screen.ts";
import { loadConfigFile } from "../../training/config/config-file.ts";
import type { UserConfig } from "../../training/config/user-config.ts";
import { settingsOf, supervisedFlags, type TrainFlags } from "../settings.ts";
import { runTraining } from "./train.ts";

/** Supervised fine-tuning on conversations, or on demonstrations by the environment's expert. @returns the exit code */
export async function sftCommand(flags: TrainFlags, screen: Screen): Promise<number> {
  const file = await loadConfigFile(flags.config);
  const given = settingsOf(supervisedFlags, flags);
  const algorithm = { ...(typeof given.algorithm === "object" ? given.algorithm : {}), kind: "sft" as const };
  const settings: UserConfig = { ...given, algorithm };
  if (!withoutEnvironment(file, settings)) return runTraining(file, settings, flags, screen);
  return runTraining({ ...file, ...alone }, settings, flags, screen, implied);
}

/** The settings for training on conversations that belong to no environment: nothing is played, so nothing is evaluated. */
const alone: UserConfig = { environment: conversationsAlone, evaluation: { tasks: 0 } };
/** Where a dry run says that these are from. */
const implied = { environment: "--data alone", evaluation: "--data alone" };

function withoutEnvironment(file: UserConfig, { environment, model = file.model, algorithm }: UserConfig): boolean {
  const hasData = typeof algorithm === "object" && "data" in algorithm && algorithm.data !== undefined;
  const isRun = model !== undefined && existsSync(layout.run(model));
  return hasData && file.environment === undefined && environment === undefined && !isRun;
}
