/** `retrograde-rl/environments`: the embedded worlds, and what an environment of your own is made of. */
import "../extensions/install.ts";

export { orsGroupScores } from "../extensions/remote/ors/ors.ts";
export {
  type EnvironmentWire,
  type ServeEnvironmentOptions,
  serveEnvironment,
} from "../extensions/remote/server/serve-environment.ts";
export type { RunningEnvironmentServer } from "../extensions/remote/server/settings.ts";
export type { ConversationReply, ConversationRequest } from "../src/chat/conversation.ts";
export { type AgentDefinition, type AgentModel, agentEnvironment } from "../src/environments/agent.ts";
export {
  type DefinedEpisode,
  defineEnvironment,
  type EnvironmentDefinition,
  type EpisodeEnd,
  type TaskRequest,
} from "../src/environments/define.ts";
export type {
  Environment,
  Episode,
  Reply,
  Score,
  Split,
  Task,
  TokenPolicy,
} from "../src/environments/environment.ts";
export { createEnvironment } from "../src/environments/registry.ts";
export { defineTool, type Tool, type ToolContext } from "../src/tools/tool.ts";
