import { resolve } from "node:path";
import { ConfigError } from "../../core/errors.ts";
import { type AgentTraining, trainedAgent } from "../../sdk/train-agent.ts";
import type { Screen } from "../../terminal/screen.ts";
import { loadConfigFile, loadModule } from "../../training/config-file.ts";
import { agentFlags, settingsOf } from "../settings.ts";
import { runTraining, type TrainFlags } from "./train.ts";

export interface TrainAgentFlags extends TrainFlags {
  readonly tasks?: string;
  readonly reward?: string;
}

/**
 * Trains the model of an agent.
 * @param agent a module of TypeScript or JavaScript, or a program and its arguments
 * @returns the exit code
 */
export async function trainAgentCommand(agent: readonly string[], flags: TrainAgentFlags, screen: Screen): Promise<number> {
  const { tasks, reward: rewardFile } = flags;
  if (tasks === undefined) throw new ConfigError("--tasks", "none", { expected: "a file of JSON lines, each with a prompt" });
  if (rewardFile === undefined)
    throw new ConfigError("--reward", "none", { expected: "a module whose default export is a function of { task, answer }" });
  const reward = await loadModule(resolve(rewardFile));
  const [file] = agent;
  const isModule = agent.length === 1 && /\.[cm]?[jt]sx?$/.test(file);
  const environment = trainedAgent({
    ...{ agent: isModule ? file : { command: agent }, tasks, reward: reward as AgentTraining["reward"] },
  });
  const user = await loadConfigFile(flags.config);
  return runTraining({ ...user, environment }, settingsOf(agentFlags, flags), flags, screen);
}
