/** `retrograde-rl/environments`: the embedded worlds, and what an environment of your own is made of. */
export { type AgentDefinition, type AgentModel, agentEnvironment } from "../environments/agent.ts";
export {
  type DefinedEpisode,
  defineEnvironment,
  type EnvironmentDefinition,
  type EpisodeEnd,
  type Request,
} from "../environments/define.ts";
export type {
  ConversationReply,
  ConversationRequest,
  Environment,
  Episode,
  Reply,
  Score,
  Split,
  Task,
  TokenPolicy,
} from "../environments/environment.ts";
export { createEnvironment } from "../environments/registry.ts";
export { type EnvironmentWire, type ServeEnvironmentOptions, serveEnvironment } from "../sdk/serve-environment.ts";
export type { RunningEnvironmentServer } from "../server/environments/settings.ts";
export { defineTool, type Tool, type ToolContext } from "../tools/tool.ts";
