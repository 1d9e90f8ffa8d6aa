import "../extensions/install.ts";

export { type AgentDefinition, type AgentModel, agentEnvironment } from "../extensions/agents/agent.ts";
export { type AgentEvaluation, type EvaluatedAgent, evaluateAgent } from "../extensions/agents/evaluate-agent.ts";
export { compareAgents, type MeasuredAgent, type MeasuredTask, type MeasureOptions } from "../extensions/agents/measure.ts";
export type { AgentProgram } from "../extensions/agents/program.ts";
export { type AgentRecord, type AgentRecording, recordAgent } from "../extensions/agents/record-agent.ts";
export type { AgentTeacher, ScriptedTeacher, TeacherMessage, TeacherRequest } from "../extensions/agents/scripted-teacher.ts";
export type { AgentEndpoint } from "../extensions/agents/served-agent-model.ts";
export type { SplitTasks } from "../extensions/agents/tasks.ts";
export { type TaughtRun, trainAgent } from "../extensions/agents/taught-agent.ts";
export type { DemonstrationSettings, TaughtTraining } from "../extensions/agents/taught-plan.ts";
export type { AgentEnd, AgentFunction, AgentRun, AgentTraining } from "../extensions/agents/train-agent.ts";
export { type AgentCheck, type AgentCheckReport, checkAgent, type LazyResult } from "../extensions/check/agent-check.ts";
export { type CheckOptions, checkEnvironment } from "../extensions/check/check.ts";
export type { EnvironmentReport } from "../extensions/check/report.ts";
export { type Rescored, type RescoredEpisode, type RescoreOptions, rescore } from "../extensions/inspect/another-reward.ts";
export { type LoadedRun, loadRun } from "../extensions/inspect/load-run.ts";
export { officeEnvironment } from "../extensions/office/office.ts";
export {
  type ServeEnvironmentOptions,
  serveEnvironment,
} from "../extensions/remote/server/serve-environment.ts";
export type { RunningEnvironmentServer } from "../extensions/remote/server/settings.ts";
export { type AiSdkTool, fromAiSdk } from "../extensions/tools/ai-sdk.ts";
export { createPageReader, type FetchSettings, fetchTool, type ReadPage } from "../extensions/tools/fetch/fetch.ts";
export type { McpServer } from "../extensions/tools/mcp/connection.ts";
export { connectMcp } from "../extensions/tools/mcp/mcp.ts";
export type { Mcp, McpSettings } from "../extensions/tools/mcp/settings.ts";
export {
  createPython,
  type Python,
  type PythonResult,
  type PythonSession,
  type PythonSettings,
} from "../extensions/tools/python/python.ts";
export type { Document } from "../extensions/tools/search/corpus.ts";
export { localSearch, readLocalSearch } from "../extensions/tools/search/local.ts";
export type { SearchOptions, SearchProvider, SearchResult } from "../extensions/tools/search/provider.ts";
export { type SearchToolOptions, searchTool } from "../extensions/tools/search/search.ts";
export type { ActionFormat, ReadAction } from "../src/actions/action.ts";
export { type FencedCodeOptions, fencedCode } from "../src/actions/fenced-code.ts";
export { pythonCalls } from "../src/actions/python-calls.ts";
export type { ConversationReply, ConversationRequest } from "../src/chat/conversation.ts";
export {
  ConfigError,
  EngineError,
  EnvError,
  ModelError,
  RetrogradeError,
  RunError,
  ShapeError,
  ToolError,
} from "../src/core/errors.ts";
export type { AssistantMessage, Message, ToolCall } from "../src/core/messages.ts";
export type { Trajectory } from "../src/core/trajectory.ts";
export {
  type DefinedEpisode,
  defineEnvironment,
  type EnvironmentDefinition,
  type EpisodeEnd,
  type TaskRequest,
} from "../src/environments/define.ts";
export type {
  CallAnswer,
  Environment,
  Episode,
  EpisodeLimits,
  Expert,
  Reply,
  Score,
  Split,
  Step,
  Task,
  TokenPolicy,
} from "../src/environments/environment.ts";
export { newMessages, oneMessage, type TextProtocol } from "../src/environments/protocol.ts";
export { createEnvironment } from "../src/environments/registry.ts";
export { defineReward, type FinishedEpisode, type Reward, RewardError } from "../src/rewards/reward.ts";
export { type EndpointActorSettings, endpointActor } from "../src/rollouts/actors/endpoint-actor.ts";
export type { Summary } from "../src/runs/records.ts";
export {
  type Comparison,
  type Comparisons,
  compare,
  type Evaluated,
  type EvaluateOptions,
  type EvaluationEvent,
  evaluate,
} from "../src/sdk/evaluate.ts";
export {
  type CodeOptions,
  type PlanOptions,
  type SftConfig,
  sft,
  type TrainedRun,
  type TrainOptions,
  train,
} from "../src/sdk/train.ts";
export { trustRun, UntrustedError } from "../src/sdk/trust.ts";
export { defineTool, type JsonSchema, type Tool, type ToolContext } from "../src/tools/tool.ts";
export { defineConfig } from "../src/training/config/config.ts";
export type { UserConfig } from "../src/training/config/user-config.ts";
export type { OnEvent, TrainingEvent } from "../src/training/record/events.ts";
