import { ConfigError } from "../../core/errors.ts";
import { agentOf, rewardOf, trainedAgent } from "../../sdk/train-agent.ts";
import type { Screen } from "../../terminal/screen.ts";
import { loadConfigFile } from "../../training/config-file.ts";
import { agentFlags, settingsOf } from "../settings.ts";
import { runTraining, type TrainFlags } from "./train.ts";

/**
 * Trains the model of an agent.
 * @param agent a module of TypeScript or JavaScript, or a program and its arguments
 * @returns the exit code
 */
export async function trainAgentCommand(agent: readonly string[], flags: TrainFlags, screen: Screen): Promise<number> {
  const { tasks, reward } = flags;
  if (tasks === undefined) throw new ConfigError("--tasks", "none", { expected: "a file of JSON lines, each with a prompt" });
  const environment = trainedAgent({ agent: agentOf(agent), tasks, reward: await rewardOf(reward) });
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
  return runTraining({ ...user, environment }, settingsOf(agentFlags, flags), { ...flags, agent }, screen);
}
