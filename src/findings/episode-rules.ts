import { groupBy } from "../core/group-by.ts";
import type { StopReason, Trajectory } from "../core/trajectory.ts";
import { wholeContext } from "../core/whole-context.ts";
import { type EpisodeFacts, percentOf, type Rule } from "./rule.ts";

/** Finds that the model never calls a tool although there are some. */
export const noToolCalls: Rule<EpisodeFacts> = ({ trajectories, tools }) => {
  const called = trajectories.some(({ turns }) => turns.some((turn) => turn.toolCalls + turn.invalidToolCalls > 0));
  if (called || tools.length === 0 || trajectories.every(({ turns }) => turns.length === 0)) return undefined;
  return {
    cause: `No tool was called in ${trajectories.length} episodes, although there are ${tools.length}: ${tools.join(", ")}.`,
    example: trajectories[0].id,
    next:
      "Read the example: the model must see the tools and write calls in its template's format. Describe them in the system message, " +
      "use a model that was trained to call tools, or show it how by `retrograde-rl sft`.",
  };
};

const badEnds: readonly StopReason[] = ["max-turns", "max-tokens"];
const badShare = 0.9;

/** Finds that nearly all episodes are cut off at the same limit. */
export const oneBadEnd: Rule<EpisodeFacts> = ({ trajectories, config: { rollout } }) => {
  for (const reason of badEnds) {
    const ended = trajectories.filter(({ stopReason }) => stopReason === reason);
    const [example] = ended;
    if (example === undefined || ended.length < badShare * trajectories.length) continue;
    const cutOff = ended.filter(({ turns }) => turns.at(-1)?.truncated === true);
    const actions = cutOff.length > ended.length / 2 && rollout.maxTokens < wholeContext;
    return {
      cause:
        `${percentOf(ended.length / trajectories.length)} of the episodes end the same bad way, by ${reason}: ` +
        (reason === "max-turns"
          ? `they reach the limit of ${rollout.maxTurns} turns (rollout.maxTurns).`
          : actions
            ? `an action reaches the limit of ${rollout.maxTokens} tokens (rollout.maxTokens).`
            : "the conversation reaches the model's longest sequence."),
      example: example.id,
      next:
        reason === "max-turns"
          ? "Raise rollout.maxTurns, or make the task end earlier; read the example for what the model repeats."
          : actions
            ? "Raise rollout.maxTokens, or ask for shorter answers; read the example for what the model does not finish."
            : "Shorten prompts and tool results (maxOutput of a tool), or use a model with a longer context.",
    };
  }
  return undefined;
};

const fewestTasks = 16;
const sameShare = 0.95;
const failedShare = 0.2;

/** Finds that nearly all tasks get the same tools in the same order, right or wrong: a constant answer where tasks ask for different ones. */
export const oneBehaviour: Rule<EpisodeFacts> = ({ trajectories }) => {
  const tasks = new Set(trajectories.map(({ task }) => task)).size;
  const [calls, same] = [...groupBy(trajectories, callsOf)].reduce((most, each) =>
    each[1].length > most[1].length ? each : most,
  );
  // One tool alone is often the only one there is.
  if (tasks < fewestTasks || new Set(calls.split(", ")).size < 2 || same.length < sameShare * trajectories.length)
    return undefined;
  const best = Math.max(...trajectories.map(({ reward }) => reward));
  const failed = same.filter(({ reward }) => reward < best);
  const [example] = failed;
  if (example === undefined || failed.length < failedShare * same.length) return undefined;
  return {
    cause:
      `${same.length} of ${trajectories.length} episodes, of ${tasks} tasks, call the same tools in the same order (${calls}), and ` +
      `${percentOf(failed.length / same.length)} of these get less than the best: success may be that of one answer to all tasks.`,
    example: example.id,
    next:
      "If tasks ask for different calls, the decision is not learned yet: more steps of `retrograde-rl sft`, more demonstrations of the " +
      "other kinds, or a larger model. Reinforcement only makes such an answer surer.",
  };
};

function callsOf({ messages }: Trajectory): string {
  return messages
    .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
    .map(({ name }) => name)
    .join(", ");
}

const fewestCalls = 5;
const failingShare = 0.95;

/** Finds a tool that gives a result in hardly any of its calls. */
export const failingTool: Rule<EpisodeFacts> = ({ trajectories, tools }) => {
  for (const tool of tools) {
    const calls = trajectories.flatMap(({ messages }) => messages.filter((message) => isAnswerOf(tool, message))).length;
    const failures = trajectories.flatMap((trajectory) => failuresOf(tool, trajectory));
    const example = failures[0]?.trajectory;
    if (example === undefined || calls < fewestCalls || failures.length < failingShare * calls) continue;
    const count = (kind: string) => failures.filter((failure) => failure.kind === kind).length;
    const answer = example.messages.find((message) => isAnswerOf(tool, message))?.content ?? "";
    return {
      cause:
        `The tool ${tool} gives a result in ${calls - failures.length} of ${calls} calls ` +
        `(${count("error")} errors, ${count("timeout")} timeouts, ${count("invalid")} with wrong arguments). Its first answer: ${answer.slice(0, 200)}`,
      example: example.id,
      next:
        count("timeout") > failures.length / 2
          ? "Run the tool by hand; raise its timeoutMs, or make fewer calls at once (rollout.concurrency)."
          : count("invalid") > failures.length / 2
            ? "Compare the example's arguments with the tool's parameters, and describe these better."
            : "Run the tool by hand with the example's arguments: what it cannot do now, the model cannot learn.",
    };
  }
  return undefined;
};

/** Finds tools whose results JSON cannot hold, so that the model does not see them. */
export const lostResults: Rule<EpisodeFacts> = ({ trajectories }) => {
  const lost = trajectories.flatMap((example) =>
    example.turns
      .flatMap(({ toolFailures = [] }) => toolFailures)
      .flatMap((failure) => (failure.lost === undefined ? [] : [{ tool: failure.tool, lost: failure.lost, example }])),
  );
  const [one] = lost;
  if (one === undefined) return undefined;
  const first = new Map(lost.toReversed().map(({ tool, lost }) => [tool, lost])); // of each tool the first
  return {
    cause: [...first].map(([tool, what]) => `The tool ${tool} returned ${what}, which the model does not see.`).join(" "),
    example: one.example.id,
    next: "Return text, or values that JSON has: strings, numbers, booleans, null, arrays and plain objects. Await promises and throw errors.",
  };
};

function isAnswerOf(tool: string, message: Trajectory["messages"][number]): boolean {
  return message.role === "tool" && message.name === tool;
}

function failuresOf(tool: string, trajectory: Trajectory) {
  return trajectory.turns
    .flatMap(({ toolFailures = [] }) => toolFailures)
    .filter((failure) => failure.tool === tool && failure.kind !== "lost")
    .map(({ kind }) => ({ kind, trajectory }));
}
