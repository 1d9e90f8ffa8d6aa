import { withinTime } from "../../src/core/deadline.ts";
import { reasonOf } from "../../src/core/errors.ts";
import { host } from "../../src/core/host.ts";
import { type Outcome, reachesOne } from "../../src/core/outcome.ts";
import type { KeptAnswer } from "../../src/core/trajectory.ts";
import { asUserCode } from "../../src/core/user-code.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { guarded } from "../../src/guard/guarded.ts";
import { agentModelName } from "../inference/server.ts";
import { environmentOfAgent, scoreOf } from "./agent.ts";
import { isServiceError } from "./blame.ts";
import { type Interception, interceptModels, type OwnAccess } from "./intercept.ts";
import { keptAnswer } from "./kept-answer.ts";
import type { MeasureOptions } from "./measure.ts";
import { runProgram } from "./program.ts";
import type { RelayedAttempt } from "./relay.ts";
import { type AgentTraining, functionOf, isProgram } from "./train-agent.ts";

type Way = Pick<RelayedAttempt, "apiKey" | "fault" | "end">;

/** Begins the errors of attempts that a reward ended. */
export const rewardError = "reward: ";

/** An agent that attempts tasks and is scored. */
export interface AttemptingAgent<T extends TaskRequest> {
  /** @param way to the model; undefined where the agent has its own */
  attempt(task: T, way: Way | undefined): Promise<{ readonly outcome: Outcome; readonly answer: KeptAnswer | undefined }>;
  close(): Promise<void>;
}

interface Attempts<T extends TaskRequest> extends Pick<AgentTraining<T>, "agent" | "reward"> {
  readonly timeoutMs?: number;
  /** The signal of `guardedAgent`. */
  readonly signal: AbortSignal;
}

const defaultMs = 120_000;

/** Does work that plays an agent: its stray errors, endless loops and `process.exit` are reported with its name. */
export function guardedAgent<R>(
  { timeoutMs = defaultMs, signal }: Pick<MeasureOptions, "timeoutMs" | "signal">,
  work: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const [subject, advice] = ["the agent's run", "Mend it, and run it again."];
  return guarded({ limitMs: timeoutMs, subject, advice, signal, warn: host.warn }, work);
}

/**
 * Opens an agent for attempts.
 * @param model the address at which it reaches its model; undefined where it has its own
 * @throws ConfigError for a module that is no agent
 */
export async function openAgent<T extends TaskRequest>(
  { agent, reward, timeoutMs = defaultMs, signal: stray }: Attempts<T>,
  model: { readonly baseUrl: string; readonly name?: string } | undefined,
): Promise<AttemptingAgent<T>> {
  const { baseUrl = "", name = agentModelName } = model ?? {};
  const interception: Interception | undefined = model !== undefined && !isProgram(agent) ? await interceptModels() : undefined;
  const close = async () => interception?.end();
  const run = isProgram(agent)
    ? agent
    : await functionOf<T>(agent).catch(async (error: unknown) => {
        await close();
        throw error;
      });
  const answerOf = async (task: T, keys: string[], signal: AbortSignal): Promise<unknown> => {
    const [apiKey = ""] = keys;
    const env = model === undefined ? {} : environmentOfAgent(baseUrl, apiKey, name);
    if (typeof run !== "function") return runProgram(run, task, { env, signal });
    const call = async (own: OwnAccess) => {
      keys.push(own.apiKey);
      return run(task.prompt, { ...own, name, signal, task });
    };
    if (interception === undefined) return call({ baseUrl, apiKey, env });
    return interception.during({ prompt: task.prompt, target: { baseUrl, apiKey, name }, signal }, call);
  };
  const attempt = async (task: T, way: Way | undefined) => {
    let answer: unknown;
    const keys = [way?.apiKey ?? ""];
    let kept: KeptAnswer | undefined;
    const ended = (outcome: Outcome) => ({ outcome, answer: kept });
    try {
      answer = await withinTime((signal) => asUserCode("the agent", () => answerOf(task, keys, signal)), timeoutMs, stray);
      kept = keptAnswer(answer, keys); // as it was before the reward read it
      // An answer that the agent made up for a server that gave none is no answer.
      const fault = way?.fault();
      if (fault !== undefined) return ended({ kind: "error", error: fault });
    } catch (error) {
      stray.throwIfAborted();
      const fault = way?.fault() ?? (isServiceError(error) ? reasonOf(error) : undefined);
      if (fault !== undefined) return ended({ kind: "error", error: fault });
      return ended({ kind: "score", reward: 0, success: false, failure: reasonOf(error) });
    } finally {
      way?.end();
    }
    return ended(await scored(() => reward({ task, answer }), timeoutMs));
  };
  return { attempt, close };
}

/** Scores an attempt. An error of the reward is no score. */
async function scored(score: () => ReturnType<AgentTraining["reward"]>, timeoutMs: number): Promise<Outcome> {
  try {
    const { reward } = scoreOf(await withinTime(async () => asUserCode("the reward", score), timeoutMs));
    if (!Number.isFinite(reward)) throw new RangeError(`the reward is ${reward}; expected a finite number`);
    return { kind: "score", reward, success: reachesOne(reward) };
  } catch (error) {
    return { kind: "error", error: `${rewardError}${reasonOf(error)}` };
  }
}
