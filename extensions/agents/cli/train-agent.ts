import { reportOf, runShown, runTraining } from "../../../src/cli/commands/train.ts";
import { showDownload } from "../../../src/cli/download.ts";
import { numberOf, wholeNumber } from "../../../src/cli/numbers.ts";
import { reportLines } from "../../../src/cli/report.ts";
import { agentFlags, settingsOf, type TrainFlags } from "../../../src/cli/settings.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { wholeConfig } from "../../../src/sdk/run-environment.ts";
import type { RunPlan } from "../../../src/sdk/train.ts";
import { interruptedExitCode } from "../../../src/terminal/interrupt.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { wrap } from "../../../src/terminal/wrap.ts";
import { withSettings } from "../../../src/training/config/config.ts";
import { loadConfigFile } from "../../../src/training/config/config-file.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { pricesOf } from "../prices.ts";
import { teach } from "../taught-agent.ts";
import { type AgentTraining, trainedAgent, trainingOf } from "../train-agent.ts";
import { teacherOf } from "./record.ts";
import { taughtLines } from "./taught-report.ts";

/**
 * Trains the model of an agent.
 * @param agent a module of TypeScript or JavaScript, or a program and its arguments
 * @param stage runs each of the two runs behind a teacher
 * @returns the exit code
 */
export async function trainAgentCommand(
  agent: readonly string[],
  flags: TrainFlags,
  screen: Screen,
  stage = runShown,
): Promise<number> {
  const training = await trainingOf(agent, flags);
  const user = await loadConfigFile(flags.config);
  if (user.environment !== undefined) {
    const named = typeof user.environment === "string" ? user.environment : user.environment.name;
    if (flags.config !== undefined)
      throw new ConfigError(`environment of ${flags.config}`, named, {
        expected: "none: the agent is the environment",
        hint: "Take it out of the file, or train in that environment: `retrograde-rl train`.",
      });
    screen.line(`The configuration's environment "${named}" is left out: the agent is the environment.`);
  }
  const settings = settingsOf(agentFlags, flags);
  if (flags.teacher !== undefined) return trainTaught(training, user, settings, { ...flags, agent }, { screen, stage });
  return runTraining({ ...user, environment: trainedAgent(training) }, settings, { ...flags, agent }, screen);
}

/** With a teacher: demonstrations, a run on them, and one of reinforcement. */
async function trainTaught(
  training: AgentTraining,
  { environment: _, ...file }: UserConfig,
  settings: UserConfig,
  flags: TrainFlags,
  { screen, stage }: { readonly screen: Screen; readonly stage: typeof runShown },
): Promise<number> {
  const { teacher, demonstrations: tasks, keep, prices, sftSteps: steps, sftLearningRate: rate } = flags;
  const given = {
    ...{ ...training, ...withSettings(file, settings) },
    ...(file.rewards === undefined ? {} : { rewards: file.rewards }),
    teacher: teacherOf(teacher ?? "", process.env),
    demonstrations: {
      tasks: wholeNumber("--demonstrations", tasks),
      keep,
      prices: prices === undefined ? undefined : pricesOf(prices, "--prices"),
      steps: wholeNumber("--sft-steps", steps),
      learningRate: rate === undefined ? undefined : numberOf("--sft-learning-rate", rate, 0),
    },
  };
  let last: RunPlan | undefined;
  const say = (line: string) => {
    for (const each of wrap(line, screen.width)) screen.line(each);
  };
  const run = async (plan: RunPlan) => {
    last = plan;
    return (await stage(plan, flags, screen)) !== undefined;
  };
  const taught = await showDownload(given.model ?? "the model", screen, (onDownload) => teach(given, { say, run, onDownload }));
  if (taught === undefined) return interruptedExitCode;
  const { config } = last ?? { config: wholeConfig(taught.folder) };
  const environment = trainedAgent(training);
  const report = await reportOf({ environment, folder: taught.folder, config }, taught.summary, flags);
  const comparison = taughtLines(taught, config.algorithm.kind, config.seed);
  for (const line of reportLines({ ...report, comparison }, screen.paint, screen.width)) screen.line(line);
  return 0;
}
