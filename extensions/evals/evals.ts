import type { TaskRequest } from "../../src/environments/define.ts";
import type { AgentFunction, AgentTraining } from "../agents/train-agent.ts";

/** An evaluation of another package, as `trainAgent` and `evaluateAgent` take it. */
export interface Evals<T extends TaskRequest> {
  readonly tasks: readonly T[];
  readonly agent: AgentFunction<T>;
  readonly reward: AgentTraining<T>["reward"];
}

/** The text of an agent's answer: the answer itself, its field `text`, or JSON. */
export function textOf(answer: unknown): string {
  if (typeof answer === "string") return answer;
  const { text } = (answer ?? {}) as { readonly text?: unknown };
  return typeof text === "string" ? text : (JSON.stringify(answer) ?? "");
}
