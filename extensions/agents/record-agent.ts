import { resolve } from "node:path";
import { optionsDoor } from "../../src/core/door.ts";
import { ConfigError, reasonOf } from "../../src/core/errors.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import { present } from "../../src/core/present.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { writeFileAtomic } from "../../src/files/atomic.ts";
import { sha256 } from "../../src/files/code-digests.ts";
import { readRow } from "../../src/training/supervised/conversations.ts";
import { type AttemptingAgent, guardedAgent, openAgent } from "./agent-attempts.ts";
import { conversationsOf, masked, teaches } from "./demonstrations.ts";
import { counted, type MeasuredAgent, type MeasureOptions, measure, type Place } from "./measure.ts";
import type { Prices } from "./prices.ts";
import { attemptId, openRecord, type RecordedAttempt, type TeacherUsage } from "./record-file.ts";
import { type AgentTeacher, askedTeacher } from "./scripted-teacher.ts";
import { noUsage, openTeacher, type Teacher } from "./teacher.ts";
import { type AgentTraining, codeOf, tasksOf } from "./train-agent.ts";

export interface AgentRecording<T extends TaskRequest = TaskRequest>
  extends Pick<AgentTraining<T>, "agent" | "tasks" | "reward">,
    MeasureOptions {
  readonly teacher: AgentTeacher;
  /** The file of demonstrations, which `sft --data` reads. A second call with it continues: attempts that have a score are not played again. */
  readonly out: string;
  /** Which episodes are kept: `reward`, a comparison, a number. Default "reward >= 1". */
  readonly keep?: string;
  /** For a million tokens of the teacher. */
  readonly prices?: Prices;
}

/** A recording: of the training tasks, as `trainAgent` splits them. */
export interface AgentRecord<T> extends MeasuredAgent<T> {
  /** Attempts that were in the file already. */
  readonly resumed: number;
  /** Attempts that the rule keeps and whose conversations can be learned. */
  readonly kept: number;
  /** Conversations that were written: of an attempt that is kept one, and one more for each sub-agent. */
  readonly rows: number;
  /** Reasons why attempts that the rule keeps were left out, with their numbers. */
  readonly unreadable: Readonly<Record<string, number>>;
  /** Reasons of the attempts that have no score, with their numbers. */
  readonly errorCounts: Readonly<Record<string, number>>;
  /** The requests of all attempts of the file, those that ended by errors too. */
  readonly usage: TeacherUsage;
  /** Where prices were given. */
  readonly cost?: { readonly total: number; readonly currency: string };
}

const refuseUnknown = optionsDoor<AgentRecording>("recordAgent", {
  ...{ agent: true, tasks: true, reward: true, teacher: true, out: true, keep: true, prices: true },
  ...{ k: true, concurrency: true, timeoutMs: true, signal: true },
});

/**
 * Records demonstrations: an agent attempts its training tasks with a strong model or a scripted expert, and the conversations of the episodes that are kept are written
 * as they were held, with schemas, calls, results and reasoning. Passwords and keys of addresses, and the teacher's key, are masked.
 * @example
 * const { kept, attempts } = await recordAgent({
 *   agent: "./agent.ts",
 *   tasks: "tasks.jsonl",
 *   reward: ({ answer }) => Number(String(answer).includes("14:30")),
 *   teacher: { baseUrl: "https://api.openai.com/v1", name: "gpt-5-mini", apiKey: process.env.OPENAI_API_KEY ?? "" },
 *   out: "demos.jsonl",
 * });
 * @throws ConfigError for what cannot be used; RunError while another process records there; MeasurementError where every attempt ended by an error
 */
export async function recordAgent<T extends TaskRequest>(recording: AgentRecording<T>): Promise<AgentRecord<T>> {
  refuseUnknown({ ...recording });
  const { agent, keep = "reward >= 1", prices, concurrency, k = 1, reward, timeoutMs } = recording;
  const keeps = keepRule(keep);
  const teacher = await askedTeacher(recording.teacher);
  const out = resolve(recording.out);
  const { train: tasks } = tasksOf(recording.tasks);
  const scoredBy = codeOf(reward);
  const file = openRecord(out, {
    teacher: teacher.identity,
    agent: sha256(codeOf(agent)),
    scoredBy: sha256(scoredBy),
  });
  const attempts: RecordedAttempt[] = [];
  const spent = file.made.map(({ usage }) => usage);
  let resumed = 0;
  const record = async (signal: AbortSignal) => {
    const opened = await openTeacher(teacher);
    let played: AttemptingAgent<T> | undefined;
    try {
      const { attempt: play } = (played = await openAgent(
        { agent, reward, timeoutMs, signal },
        { ...opened, name: teacher.name },
      ));
      const attempt = async (task: T, place: Place): Promise<Outcome> => {
        const id = attemptId(task, place.attempt);
        const known = file.known.get(id);
        if (known !== undefined) resumed++;
        const made = known ?? {
          id,
          ...(await attemptWith(opened, teacher.apiKey, async (way) => (await play(task, way)).outcome)),
        };
        if (known === undefined && made.usage.requests > 0) {
          file.add(made);
          spent.push(made.usage);
        }
        attempts[place.task * k + place.attempt] = made;
        return made.outcome;
      };
      const measured = await measure(tasks, attempt, { k, concurrency, scoredBy });
      const chosen = attempts.filter(({ outcome }) => outcome.kind === "score" && keeps(outcome.reward));
      const kept = chosen.filter(({ unreadable }) => unreadable === undefined);
      const rows = kept.flatMap((each) => each.rows);
      if (rows.length > 0) writeFileAtomic(out, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
      const usage = sumOf(spent);
      return {
        ...measured,
        ...{ resumed, kept: kept.length, rows: rows.length, usage },
        unreadable: counted(chosen.map(({ unreadable }) => unreadable)),
        errorCounts: counted(measured.tasks.flatMap(({ errors }) => errors)),
        ...(prices === undefined ? {} : { cost: costOf(usage, prices) }),
      };
    } finally {
      await played?.close();
      await opened.close();
    }
  };
  return guardedAgent(recording, record).finally(() => file.close());
}

async function attemptWith(
  teacher: Teacher,
  apiKey: string,
  attempt: (way: ReturnType<Teacher["open"]>) => Promise<Outcome>,
): Promise<Omit<RecordedAttempt, "id">> {
  const stopped = teacher.stopped();
  if (stopped !== undefined) return { outcome: { kind: "error", error: stopped }, usage: noUsage, rows: [] };
  const way = teacher.open();
  const outcome = await attempt(way);
  const usage = way.usage();
  const done = { usage, rows: [] };
  if (outcome.kind === "error") return { ...done, outcome: masked(outcome, [apiKey]) };
  const error = "the agent asked the teacher nothing: is its client one that reads the customary variables?";
  if (usage.requests === 0 && outcome.failure === undefined) return { ...done, outcome: { kind: "error", error } };
  const rows = masked(conversationsOf(way.exchanges()).filter(teaches), [apiKey, way.apiKey]);
  const unreadable = rows.length === 0 ? "no answer that can be learned" : reasonAgainst(rows);
  return { outcome: masked(outcome, [apiKey]), usage, rows, unreadable };
}

/** Why `sft` would refuse conversations; undefined if it would not. */
function reasonAgainst(rows: readonly object[]): string | undefined {
  try {
    for (const row of rows) readRow(row, "a conversation");
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** A reward may miss a number by the rounding of a sum. */
const rounding = 1e-9;
const comparisons: Readonly<Record<string, (reward: number, limit: number) => boolean>> = {
  ">=": (reward, limit) => reward >= limit - rounding,
  ">": (reward, limit) => reward > limit + rounding,
  "<=": (reward, limit) => reward <= limit + rounding,
  "<": (reward, limit) => reward < limit - rounding,
};

/** @throws ConfigError for a text that is no rule */
export function keepRule(text: string): (reward: number) => boolean {
  const rule = /^\s*reward\s*(>=|>|<=|<)\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text);
  if (rule === null) throw new ConfigError("keep", text, { expected: 'a rule such as "reward >= 1" or "reward > 0.5"' });
  const [, sign, limit] = rule;
  return (reward) => present(comparisons[present(sign, "a sign")], "a comparison")(reward, Number(limit));
}

function sumOf(usages: readonly TeacherUsage[]): TeacherUsage {
  const sum = { ...noUsage };
  for (const usage of usages) for (const name of Object.keys(sum) as (keyof TeacherUsage)[]) sum[name] += usage[name];
  return sum;
}

function costOf(
  { promptTokens, completionTokens }: TeacherUsage,
  { input, output, currency }: Prices,
): AgentRecord<object>["cost"] {
  return { total: (promptTokens * input + completionTokens * output) / 1e6, currency };
}
