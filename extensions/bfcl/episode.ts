import { reasonOf } from "../../src/core/errors.ts";
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../../src/core/messages.ts";
import { present } from "../../src/core/present.ts";
import type { CallAnswer, Episode, Reply, Score, Step } from "../../src/environments/environment.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { repr } from "../python/text.ts";
import { Dict } from "../python/values.ts";
import { checkTask, passedTurns } from "./checker.ts";
import { documentsAt, documentsText, type FunctionDocument, toolOf } from "./documents.ts";
import { callText, decodePythonCalls } from "./formats.ts";
import { rightCalls } from "./right-calls.ts";
import { Session } from "./session.ts";
import type { BfclSettings } from "./settings.ts";
import type { BfclTask } from "./tasks.ts";

type Documents = ReadonlyMap<string, readonly FunctionDocument[]>;

/** The record of an episode so far. Turns are lists of steps, steps lists of call texts. */
interface Progress {
  readonly session: Session;
  readonly turns: readonly (readonly (readonly string[])[])[];
  /** The calls of the action that is being answered. */
  readonly step: readonly string[];
}

/** The user's words when held-out functions appear. */
const updatedFunctions = "I have updated some more functions you can choose from. What about now?";

const pythonFormat = `Call functions to fulfil the user's requests. Write nothing but the calls, as a Python list:
[name(parameter=value, ...), other_name(parameter=value)]
You get their results and may call again. When a request is fulfilled, or cannot be fulfilled with these functions and what you know, answer in words without any call.
The functions, as JSON:
`;

/** Starts an episode: the user's requests one after the other, each until the model answers without a call. */
export function startEpisode(task: BfclTask, documents: Documents, settings: BfclSettings): Episode {
  return episodeFrom(task, documents, settings, { session: new Session(task), turns: [[]], step: [] });
}

function episodeFrom(task: BfclTask, documents: Documents, settings: BfclSettings, start: Progress): Episode {
  const { session } = start;
  const turns = start.turns.map((steps) => [...steps]);
  let step = [...start.step];
  const native = settings.format === "native";
  const current = () => turns.length - 1;
  const toolsAt = (turn: number): Tool[] => (native ? documentsAt(documents, task, turn).map(toolOf) : []);
  const userMessage = (turn: number): Message => ({ role: "user", content: task.userTurns[turn] ?? updatedFunctions });
  const systemAt = (turn: number): Message[] =>
    native ? [] : [{ role: "system", content: `${pythonFormat}${documentsText(documentsAt(documents, task, turn))}` }];

  const execute = (text: string): string => {
    step.push(text);
    return present(session.execute([text])[0], "the result of a call");
  };
  /** Ends a step. @returns true if the turn has too many: then the task is over */
  const endStep = (): boolean => {
    const steps = present(turns.at(-1), "a turn");
    steps.push(step);
    step = [];
    return steps.length > settings.stepsPerTurn;
  };
  /** Continues with the next request, or ends. */
  const nextTurn = (): Reply => {
    if (turns.length === task.userTurns.length) return { done: true };
    turns.push([]);
    const turn = current();
    const appear = task.missedFunctions.get(turn);
    if (appear === undefined) return { done: false, messages: [userMessage(turn)] };
    if (native) return { done: false, messages: [userMessage(turn)], tools: toolsAt(turn) };
    const added = documentsAt(documents, task, turn).filter(({ name }) => appear.includes(name));
    return { done: false, messages: [{ role: "user", content: `${documentsText(added)}\n${updatedFunctions}` }] };
  };
  /** Executes the calls of a text and answers with their results. */
  const answerText = (calls: readonly string[]): Reply => {
    const results = calls.map((text) => Dict.of({ role: "tool", name: text, content: execute(text) }));
    if (endStep()) return { done: true };
    return { done: false, messages: [{ role: "user", content: repr(results) }] };
  };

  return {
    messages: [...systemAt(0), userMessage(0)],
    tools: toolsAt(current()),
    limits: { turnsPerRequest: settings.stepsPerTurn + 2 },
    call(call: ToolCall): CallAnswer | undefined {
      let text: string;
      try {
        text = callText(call);
      } catch (problem) {
        const why = reasonOf(problem);
        return { content: `Error during execution: ${why}`, valid: false };
      }
      const content = execute(text);
      return { content, valid: !content.startsWith("Error during execution:") };
    },
    afterTools: (_answers: readonly ToolMessage[]): Step | undefined => (endStep() ? { done: true } : undefined),
    reply(message: AssistantMessage): Reply {
      const calls = native ? undefined : decodePythonCalls(message.content);
      return calls === undefined || calls.length === 0 ? nextTurn() : answerText(calls);
    },
    score: () => scoreOf(task, turns, documents, settings.reward),
    clone: () => episodeFrom(task, documents, settings, { session: session.clone(), turns, step }),
  };
}

/**
 * Scores: `success` (the verdict), `turns` (the share of checked turns that passed before the first that did not), `calls` (the
 * share of the published answer's calls that were made).
 */
function scoreOf(task: BfclTask, turns: Progress["turns"], documents: Documents, reward: BfclSettings["reward"]): Score {
  const success = checkTask(task, turns).valid ? 1 : 0;
  const checked = task.groundTruth.filter((calls) => calls.length > 0).length;
  const share = success === 1 || checked === 0 ? success : passedTurns(task, turns) / checked;
  const all = task.involvedClasses.flatMap((name) => documents.get(name) ?? []);
  const made = turns.map((steps) => steps.flat());
  const calls = rightCalls(task.groundTruth, made, all);
  return { reward: reward === "sparse" ? success : share, scores: { success, turns: share, calls } };
}
