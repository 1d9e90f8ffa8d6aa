import { z } from "zod";
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../../src/core/messages.ts";
import { present } from "../../src/core/present.ts";
import type { CallAnswer, Episode, Reply, Score, Step } from "../../src/environments/environment.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { documentsAt, documentsText, type FunctionDocument, parametersOf, toolOf } from "./documents.ts";
import { type Evaluator, RequestError, SessionOver } from "./evaluator/evaluator.ts";
import type { BfclSettings } from "./settings.ts";
import type { BfclTask } from "./tasks.ts";
import { checkTask } from "./verdict.ts";

/** The parts that an episode needs. */
export interface Played {
  readonly task: BfclTask;
  readonly documents: ReadonlyMap<string, readonly FunctionDocument[]>;
  readonly settings: BfclSettings;
  readonly evaluator: Evaluator;
}

/** The record of an episode so far. Turns are lists of steps, steps lists of call texts. */
interface Progress {
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

let sessions = 0;

/** Starts an episode: the user's requests one after the other, each until the model answers without a call. */
export function startEpisode(played: Played): Promise<Episode> {
  return episodeFrom(played, { turns: [[]], step: [] });
}

async function episodeFrom(played: Played, start: Progress): Promise<Episode> {
  const { task, documents, settings, evaluator } = played;
  const turns = start.turns.map((steps) => [...steps]);
  let step = [...start.step];
  let over = false;
  const session = `session ${++sessions}`;
  // Instances depend on their calls alone, so a copy is made by making these again.
  await evaluator.execute({ op: "open", session, record: task.record, calls: [...turns.flat(2), ...step] });

  const native = settings.format === "native";
  const current = () => turns.length - 1;
  const toolsAt = (turn: number): Tool[] => (native ? documentsAt(documents, task, turn).map(toolOf) : []);
  const userMessage = (turn: number): Message => ({ role: "user", content: task.userTurns[turn] ?? updatedFunctions });
  const systemAt = (turn: number): Message[] =>
    native ? [] : [{ role: "system", content: `${pythonFormat}${documentsText(documentsAt(documents, task, turn))}` }];

  /** Executes a call. One that does not end takes the session with it, and ends the episode. */
  const execute = async (text: string): Promise<string> => {
    step.push(text);
    try {
      const [result] = z.array(z.string()).parse(await evaluator.execute({ op: "execute", session, calls: [text] }));
      return present(result, "the result of a call");
    } catch (error) {
      if (!(error instanceof SessionOver)) throw error;
      over = true;
      return `Error during execution: ${error.message}`;
    }
  };
  /** Ends a step. @returns true if the turn has too many: then the task is over */
  const endStep = (): boolean => {
    const steps = present(turns.at(-1), "a turn");
    steps.push(step);
    step = [];
    return over || steps.length > settings.stepsPerTurn;
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
  const answerText = async (calls: readonly string[]): Promise<Reply> => {
    const results: [string, string][] = [];
    for (const text of calls) results.push([text, await execute(text)]);
    if (endStep()) return { done: true };
    return {
      done: false,
      messages: [{ role: "user", content: z.string().parse(await evaluator.execute({ op: "show", results })) }],
    };
  };

  return {
    messages: [...systemAt(0), userMessage(0)],
    tools: toolsAt(current()),
    limits: { turnsPerRequest: settings.stepsPerTurn + 2 },
    async call({ name, arguments: given, argumentsText }: ToolCall): Promise<CallAnswer> {
      let text: string;
      try {
        const request = { op: "native", name, arguments: argumentsText ?? JSON.stringify(given) };
        text = z.string().parse(await evaluator.execute(request));
      } catch (problem) {
        if (!(problem instanceof RequestError)) throw problem;
        return { content: `Error during execution: ${problem.message}`, valid: false };
      }
      const content = await execute(text);
      return { content, valid: !content.startsWith("Error during execution:") };
    },
    afterTools: (_answers: readonly ToolMessage[]): Step | undefined => (endStep() ? { done: true } : undefined),
    async reply(message: AssistantMessage): Promise<Reply> {
      const decoded = native ? null : await evaluator.execute({ op: "decode", answer: message.content });
      const calls = z.array(z.string()).nullable().parse(decoded);
      return calls === null || calls.length === 0 ? nextTurn() : answerText(calls);
    },
    score: () => scoreOf(played, turns),
    clone: () => episodeFrom(played, { turns, step }),
    close: async () => {
      await evaluator.execute({ op: "close", session });
    },
  };
}

/**
 * Scores: `success` (the verdict), `turns` (the share of checked turns that passed before the first that did not), `calls` (the
 * share of the published answer's calls that were made).
 */
async function scoreOf({ task, documents, settings, evaluator }: Played, turns: Progress["turns"]): Promise<Score> {
  const { verdict, passed } = await checkTask(evaluator, task, turns);
  const success = verdict.valid ? 1 : 0;
  const checked = task.groundTruth.filter((calls) => calls.length > 0).length;
  const share = success === 1 || checked === 0 ? success : passed / checked;
  const parameters = parametersOf(task.involvedClasses.flatMap((name) => documents.get(name) ?? []));
  const made = turns.map((steps) => steps.flat());
  const calls = z.number().parse(await evaluator.judge({ op: "right", answer: task.groundTruth, turns: made, parameters }));
  return { reward: settings.reward === "sparse" ? success : share, scores: { success, turns: share, calls } };
}
