export {
  ConfigError,
  EngineError,
  EnvError,
  ModelError,
  RetrogradeError,
  RunError,
  ShapeError,
  ToolError,
} from "./core/errors.ts";
export type { AssistantMessage, Message, ToolCall } from "./core/messages.ts";
export type { Trajectory } from "./core/trajectory.ts";
export { defineEnvironment, type EnvironmentDefinition, type EpisodeEnd } from "./environments/define.ts";
export type { Environment, Episode, Reply, Score, Split, Task } from "./environments/environment.ts";
export { officeEnvironment } from "./environments/office/office.ts";
export { defineReward, type FinishedEpisode, type Reward } from "./rewards/reward.ts";
export type { Summary } from "./runs/records.ts";
export { type PlanOptions, type TrainOptions, train } from "./sdk/train.ts";
export { defineTool, type Tool } from "./tools/tool.ts";
export { defineConfig, type UserConfig } from "./training/config.ts";
export type { OnEvent, TrainingEvent } from "./training/events.ts";
