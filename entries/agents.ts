import { type AgentEvaluation, type EvaluatedAgent, evaluateAgent as evaluate } from "../extensions/agents/evaluate-agent.ts";

export { compareAgents, type MeasuredAgent, type MeasuredTask, type MeasureOptions } from "../extensions/agents/measure.ts";
export type { AgentProgram } from "../extensions/agents/program.ts";
export { type AgentRecord, type AgentRecording, recordAgent } from "../extensions/agents/record-agent.ts";
export type { AgentEvaluation, EvaluatedAgent };

/** As in `retrograde-rl`. The engine is loaded where a model of this machine is asked for. */
export const evaluateAgent: typeof evaluate = async (evaluation) => {
  if (evaluation.model !== undefined) await import("../extensions/install.ts");
  return evaluate(evaluation);
};
