import { join } from "node:path";
import { CompletionError } from "../../src/completions/errors.ts";
import { Semaphore } from "../../src/core/semaphore.ts";
import type { Task } from "../../src/environments/environment.ts";
import {
  type PartScores,
  RewardError,
  type RewardPart,
  type ScoredGroup,
  type ScoringContext,
} from "../../src/rewards/reward.ts";
import { type Answer, readAnswer } from "./answer.ts";
import type { Budget } from "./budget.ts";
import type { ChatMessage, Endpoint } from "./endpoint.ts";
import { questionAboutEpisode, referenceIn } from "./episode.ts";
import { added, Ledger, type LedgerEntry, noUsage, type Usage } from "./ledger.ts";
import { type Question, questionAbout } from "./prompt.ts";
import type { JudgeReward } from "./settings.ts";

/** The score that a group gets whose attempts are one, or all equal: no part of the range is nearer to the truth. */
const nothingToCompare = 0.5;
/** So much of a useless answer is shown to its judge again. */
const quotedCharacters = 2000;

export interface JudgeParts {
  readonly name: string;
  readonly config: JudgeReward;
  readonly ledger: Ledger;
  readonly budget: Budget;
  readonly openEndpoint: (warn: (message: string) => void) => Endpoint;
}

/** How the judging of a group went. `values` is undefined where it failed and `onFailure` leaves it out. */
interface Verdict {
  readonly values: readonly number[] | undefined;
  readonly usage: Usage;
  readonly outcome: "asked" | "cached" | "uncompared" | "skipped";
}

/**
 * A language model that scores the trajectories of a group against each other, as RULER of OpenPipe's ART does, or each by itself. Each group,
 * or episode, is one question; what has been answered before is not asked again.
 */
export function judgePart({ name, config, ledger, budget, openEndpoint }: JudgeParts): Pick<RewardPart, "check" | "score"> {
  const shared = config.cache === undefined ? undefined : new Ledger(join(config.cache, `${name}.jsonl`));
  const room = new Semaphore(config.concurrency);
  const inFlight = new Map<string, Promise<LedgerEntry>>();
  let endpoint: Endpoint | undefined;

  const judge = async (group: ScoredGroup, context: ScoringContext): Promise<Verdict> => {
    if (group.trajectories.length === 0) return { values: [], usage: noUsage, outcome: "uncompared" };
    const question = questionOf(name, config, group);
    if (config.of === "group" && question.attempts === 1)
      return { values: group.trajectories.map(() => nothingToCompare), usage: noUsage, outcome: "uncompared" };
    const known = ledger.find(question.key);
    const elsewhere = known === undefined ? shared?.find(question.key) : undefined;
    const entry = known ?? elsewhere ?? (await (inFlight.get(question.key) ?? ask(group, question, context)));
    // A resumed run comes by its own answers again, and reports them as when it asked.
    const own = entry.group === group.id && entry !== elsewhere;
    const usage = own ? entry : noUsage;
    if (entry.scores !== undefined)
      return { values: question.byTrajectory(entry.scores), usage, outcome: own ? "asked" : "cached" };
    if (config.onFailure === "error") throw unanswered(name, group, entry.problem ?? "no answer");
    context.warn(`${name}: group ${group.id} is left out of the update: ${entry.problem}`);
    return { values: undefined, usage, outcome: "skipped" };
  };

  const ask = (group: ScoredGroup, question: Question, context: ScoringContext): Promise<LedgerEntry> => {
    const asking = room.run(async () => {
      endpoint ??= openEndpoint(context.warn);
      let usage = noUsage;
      const spend = (more: Usage) => {
        usage = added(usage, more);
      };
      const record = (answer: Answer): LedgerEntry => {
        const entry = { key: question.key, group: group.id, ...usage, ...recorded(answer) };
        ledger.add(entry);
        return entry;
      };
      try {
        const entry = record(await askUntilUsable(name, config.attempts, endpoint, budget, question, spend, context.signal));
        if (entry.scores !== undefined) shared?.add(entry);
        return entry;
      } catch (error) {
        // What was spent counts, also where the run ends here.
        if (usage.calls > 0) record({ problem: "the run ended here" });
        throw error;
      }
    });
    inFlight.set(question.key, asking);
    const over = () => inFlight.delete(question.key);
    asking.then(over, over);
    return asking;
  };

  return {
    ...(config.reference !== undefined && { check: (task: Task) => void referenceIn(name, task, config.reference ?? "") }),
    score: async (groups, context) => {
      const failure = new AbortController();
      const signal = context.signal === undefined ? failure.signal : AbortSignal.any([context.signal, failure.signal]);
      const judged = await Promise.allSettled(
        groups.map(async (group) => {
          try {
            return await Promise.all(unitsOf(group, config.of).map((unit) => judge(unit, { ...context, signal })));
          } catch (error) {
            failure.abort(error);
            throw error;
          } finally {
            context.onScored(group.trajectories.length);
          }
        }),
      );
      context.signal?.throwIfAborted();
      if (failure.signal.aborted) throw failure.signal.reason;
      return summarised(judged.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])));
    },
  };
}

/** Asks, and asks again with what was wrong. */
async function askUntilUsable(
  name: string,
  attempts: number,
  endpoint: Endpoint,
  budget: Budget,
  { system, user, attempts: shown }: Question,
  spend: (usage: Usage) => void,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const messages: ChatMessage[] = [
    { role: "system", content: system },
    { role: "user", content: user },
  ];
  let problem = "";
  for (let attempt = 0; attempt < attempts; attempt++) {
    signal?.throwIfAborted();
    budget.take(name);
    spend({ ...noUsage, calls: 1 });
    try {
      const { text, truncated, promptTokens, completionTokens } = await endpoint.ask(messages, signal);
      const tokens = { calls: 0, promptTokens, completionTokens };
      spend(tokens);
      budget.add(tokens);
      // A draft among its thoughts is no answer.
      const answer = truncated ? { problem: "its limit of tokens cut it off" } : readAnswer(text, shown);
      if (!("problem" in answer)) return answer;
      problem = `the judge's answer cannot be used: ${answer.problem}`;
      messages.splice(
        2,
        messages.length,
        { role: "assistant", content: text.slice(0, quotedCharacters) },
        {
          role: "user",
          content: `This answer cannot be used: ${answer.problem}. Answer again, with JSON alone, each id from 1 to ${shown} once.`,
        },
      );
    } catch (error) {
      if (!(error instanceof CompletionError)) throw error;
      const failure = `${error.subject}: ${error.value}`;
      if (error.failure === "settings")
        throw new RewardError(name, failure, {
          expected: "an answer",
          hint: "Check baseUrl, model and the key that apiKeyEnv names.",
        });
      // The client has repeated the request by itself already.
      return { problem: failure };
    }
  }
  return { problem: `${problem} (asked ${attempts} times)` };
}

function recorded(answer: Answer): Pick<LedgerEntry, "scores" | "explanations" | "problem"> {
  return "problem" in answer ? answer : { scores: [...answer.scores], explanations: [...answer.explanations] };
}

function unanswered(name: string, { id }: ScoredGroup, problem: string): RewardError {
  return new RewardError(name, `not given to group ${id}`, {
    expected: "a usable answer of the judge",
    hint: `${problem}. Finished steps are kept: continue with --resume. With onFailure "skip-group" such groups are left out of the update instead.`,
  });
}

/** Returns the subjects of questions: a group, or each of its episodes. */
function unitsOf(group: ScoredGroup, of: JudgeReward["of"]): ScoredGroup[] {
  if (of === "group") return [group];
  return group.trajectories.map((trajectory) => ({ ...group, id: trajectory.id, trajectories: [trajectory] }));
}

function questionOf(name: string, { of, model, rubric, reference }: JudgeReward, { trajectories, task }: ScoredGroup): Question {
  const [first] = trajectories;
  if (of === "group" || first === undefined) return questionAbout(trajectories, model, rubric);
  return questionAboutEpisode(first, model, rubric, reference === undefined ? undefined : referenceIn(name, task, reference));
}

/** @param groups the verdicts on each */
function summarised(groups: readonly (readonly Verdict[])[]): PartScores {
  const verdicts = groups.flat();
  const usage = verdicts.map(({ usage }) => usage).reduce(added, noUsage);
  const count = (outcome: Verdict["outcome"]) => verdicts.filter((verdict) => verdict.outcome === outcome).length;
  return {
    values: groups.map((group) =>
      group.every(({ values }) => values !== undefined) ? group.flatMap(({ values = [] }) => values) : undefined,
    ),
    metrics: {
      "judge/calls": usage.calls,
      "judge/promptTokens": usage.promptTokens,
      "judge/completionTokens": usage.completionTokens,
      "judge/asked": count("asked"),
      "judge/cached": count("cached"),
      "judge/uncompared": count("uncompared"),
      "judge/skipped": count("skipped"),
    },
  };
}
