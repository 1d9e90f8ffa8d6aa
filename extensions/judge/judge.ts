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
import type { Ask, ChatMessage } from "./endpoint.ts";
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
  readonly openEndpoint: (warn: (message: string) => void) => Ask;
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
export function judgePart(parts: JudgeParts): Pick<RewardPart, "check" | "score"> {
  const { name, config } = parts;
  const { reference } = config;
  const judge = new Judge(parts);
  return {
    ...(reference !== undefined && { check: (task: Task) => void referenceIn(name, task, reference) }),
    score: (groups, context) => judge.score(groups, context),
  };
}

class Judge {
  readonly #parts: JudgeParts;
  readonly #shared: Ledger | undefined;
  readonly #room: Semaphore;
  readonly #inFlight = new Map<string, Promise<LedgerEntry>>();
  #endpoint: Ask | undefined;

  constructor(parts: JudgeParts) {
    const { name, config } = parts;
    this.#parts = parts;
    this.#shared = config.cache === undefined ? undefined : new Ledger(join(config.cache, `${name}.jsonl`));
    this.#room = new Semaphore(config.concurrency);
  }

  async score(groups: readonly ScoredGroup[], context: ScoringContext): Promise<PartScores> {
    const failure = new AbortController();
    const signal = context.signal === undefined ? failure.signal : AbortSignal.any([context.signal, failure.signal]);
    const judged = await Promise.allSettled(
      groups.map(async (group) => {
        try {
          const units = unitsOf(group, this.#parts.config.of);
          return await Promise.all(units.map((unit) => this.#judge(unit, { ...context, signal })));
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
  }

  async #judge(group: ScoredGroup, context: ScoringContext): Promise<Verdict> {
    const { name, config, ledger } = this.#parts;
    if (group.trajectories.length === 0) return { values: [], usage: noUsage, outcome: "uncompared" };
    const question = questionOf(name, config, group);
    if (config.of === "group" && question.attempts === 1)
      return { values: group.trajectories.map(() => nothingToCompare), usage: noUsage, outcome: "uncompared" };
    const known = ledger.find(question.key);
    const elsewhere = known === undefined ? this.#shared?.find(question.key) : undefined;
    const entry = known ?? elsewhere ?? (await (this.#inFlight.get(question.key) ?? this.#ask(group, question, context)));
    // A resumed run comes by its own answers again, and reports them as when it asked.
    const own = entry.group === group.id && entry !== elsewhere;
    const usage = own ? entry : noUsage;
    if (entry.scores !== undefined)
      return { values: question.byTrajectory(entry.scores), usage, outcome: own ? "asked" : "cached" };
    if (config.onFailure === "error") throw unanswered(name, group, entry.problem);
    context.warn(`${name}: group ${group.id} is left out of the update: ${entry.problem}`);
    return { values: undefined, usage, outcome: "skipped" };
  }

  #ask(group: ScoredGroup, question: Question, context: ScoringContext): Promise<LedgerEntry> {
    const asking = this.#room.run(async () => {
      this.#endpoint ??= this.#parts.openEndpoint(context.warn);
      let usage = noUsage;
      const spend = (more: Usage) => {
        usage = added(usage, more);
      };
      const record = (answer: Answer): LedgerEntry => {
        const entry = { key: question.key, group: group.id, ...usage, ...answer };
        this.#parts.ledger.add(entry);
        return entry;
      };
      try {
        const entry = record(await this.#askUntilUsable(this.#endpoint, question, spend, context.signal));
        if (entry.scores !== undefined) this.#shared?.add(entry);
        return entry;
      } catch (error) {
        // What was spent counts, also where the run ends here.
        if (usage.calls > 0) record({ problem: "the run ended here" });
        throw error;
      }
    });
    this.#inFlight.set(question.key, asking);
    const over = () => this.#inFlight.delete(question.key);
    asking.then(over, over);
    return asking;
  }

  /** Asks, and asks again with what was wrong. */
  async #askUntilUsable(
    ask: Ask,
    { system, user, attempts: shown }: Question,
    spend: (usage: Usage) => void,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const { name, budget, config } = this.#parts;
    const question: readonly ChatMessage[] = [
      { role: "system", content: system },
      { role: "user", content: user },
    ];
    let messages = question;
    let problem = "";
    for (let attempt = 0; attempt < config.attempts; attempt++) {
      signal?.throwIfAborted();
      budget.take(name);
      spend({ ...noUsage, calls: 1 });
      try {
        const { text, truncated, promptTokens, completionTokens } = await ask(messages, signal);
        const tokens = { calls: 0, promptTokens, completionTokens };
        spend(tokens);
        budget.add(tokens);
        // A draft among its thoughts is no answer.
        const answer = truncated ? { problem: "its limit of tokens cut it off" } : readAnswer(text, shown);
        if (!("problem" in answer)) return answer;
        problem = `the judge's answer cannot be used: ${answer.problem}`;
        const correction = `This answer cannot be used: ${answer.problem}. Answer again, with JSON alone, each id from 1 to ${shown} once.`;
        messages = [
          ...question,
          { role: "assistant", content: text.slice(0, quotedCharacters) },
          { role: "user", content: correction },
        ];
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
    return { problem: `${problem} (asked ${config.attempts} times)` };
  }
}

function unanswered(name: string, { id }: ScoredGroup, problem: string | undefined): RewardError {
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
