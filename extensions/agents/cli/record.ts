import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { wholeNumber } from "../../../src/cli/numbers.ts";
import { apiKeyFrom } from "../../../src/core/api-key.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { runsFolder } from "../../../src/runs/layout.ts";
import { count, percent, plural } from "../../../src/terminal/format.ts";
import { interruptedExitCode, interruptible } from "../../../src/terminal/interrupt.ts";
import { commandPrefix, quoted, shownPath } from "../../../src/terminal/invocation.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { costText, pricesOf } from "../prices.ts";
import { type AgentRecord, recordAgent } from "../record-agent.ts";
import { attemptsFile } from "../record-file.ts";
import type { AgentTeacher } from "../scripted-teacher.ts";
import { tasksOf, trainingOf } from "../train-agent.ts";
import { linesOf, modelOf } from "./eval-agent.ts";

type RecordFlag = "tasks" | "reward" | "teacher" | "keep" | "out" | "k" | "concurrency" | "timeout" | "prices";
export type RecordFlags = Readonly<Partial<Record<RecordFlag, string>>>;

/** The smallest that copies numbers and names; the bundled models know the tools of their own worlds alone. */
const student = "smollm2";

/** Records demonstrations of an agent with a strong model. @returns the exit code: 1 where nothing was kept */
export async function recordCommand(agent: readonly string[], flags: RecordFlags, screen: Screen): Promise<number> {
  const { teacher: who = "", keep = "reward >= 1", out = "demos.jsonl", prices } = flags;
  const training = await trainingOf(agent, flags);
  const teacher = teacherOf(who, process.env);
  const tasks = tasksOf(training.tasks);
  const timeout = wholeNumber("--timeout", flags.timeout);
  const options = {
    k: wholeNumber("--k", flags.k),
    concurrency: wholeNumber("--concurrency", flags.concurrency),
    ...(timeout === undefined ? {} : { timeoutMs: 1000 * timeout }),
    ...(prices === undefined ? {} : { prices: pricesOf(prices, "--prices") }),
  };
  const agentFiles = ` --tasks ${quoted(training.tasks)} --reward ${quoted(String(flags.reward))} -- ${agent.map(quoted).join(" ")}`;
  const measuring = tasks.train === tasks.test ? "" : ` (${count(tasks.test.length)} are kept for measuring)`;
  screen.line(`${agent.join(" ")} with ${who}: ${plural(tasks.train.length, "task")}${measuring}`);
  const kept = () =>
    screen.line(`Interrupted. Attempts that have ended are kept in ${shownPath(attemptsFile(out))}: the same command continues`);
  const record = await interruptible(kept, (signal) =>
    recordAgent({ ...training, tasks, teacher, out, keep, ...options, signal }),
  );
  if (record === undefined) return interruptedExitCode;
  const taught = freeName(join(runsFolder, `${basename(out, ".jsonl")}-sft`));
  for (const line of [...linesOf(record), ...keptLines(record, keep, out)]) screen.line(`   ${line}`);
  screen.line(
    record.usage.requests === 0
      ? `Next: ${commandPrefix()} check${agentFiles} says why the agent asked its model nothing.`
      : record.rows === 0
        ? `Next: read the attempts in ${shownPath(attemptsFile(out))}: they say what the teacher did. A lower --keep costs nothing: it plays no attempt again.`
        : `Next: ${commandPrefix()} sft --data ${quoted(out)} --model ${student} --out ${quoted(taught)}`,
  );
  if (record.rows > 0) {
    screen.line(`Then: ${commandPrefix()} train-agent --model ${quoted(taught)}${agentFiles}`);
    screen.line("Other models: docs/which-model.md");
  }
  return record.rows === 0 ? 1 : 0;
}

function freeName(path: string, number = 1): string {
  const name = `${path}-${number}`;
  return existsSync(name) ? freeName(path, number + 1) : name;
}

/** The teacher of `--teacher`: NAME@ADDRESS of an endpoint, or a module. @throws ConfigError for what is neither, and OpenAI's server without a key */
export function teacherOf(text: string, env: NodeJS.ProcessEnv): AgentTeacher {
  if (/\.[cm]?[jt]sx?$/.test(text)) {
    if (existsSync(text)) return text;
    const expected = "a module that exists: ({ messages, tools }) => the assistant's message";
    throw new ConfigError("--teacher", text, { expected });
  }
  const { endpoint } = modelOf(text, env);
  if (!endpoint?.name)
    throw new ConfigError("--teacher", text || undefined, {
      expected:
        "NAME@ADDRESS, a model at a server, such as gpt-5-mini@https://api.openai.com/v1, or the module of a scripted expert",
    });
  const { name, baseUrl } = endpoint;
  if (new URL(baseUrl).host === "api.openai.com") apiKeyFrom(env, "OPENAI_API_KEY", baseUrl);
  return { ...endpoint, name };
}

export function keptLines(record: AgentRecord<object>, keep: string, out: string): string[] {
  const { attempts, errors, kept, rows, unreadable, errorCounts, usage, cost } = record;
  const scored = attempts - errors;
  const { requests, promptTokens, completionTokens, unreported } = usage;
  const price = cost === undefined ? "" : `: ${costText(cost)}`;
  const counted = promptTokens + completionTokens === 0 && unreported === 0 ? "no tokens: it is a script" : undefined;
  const lacking = unreported === 0 ? "" : `, without ${plural(unreported, "answer")} whose tokens it did not report`;
  return [
    `kept ${count(kept)} of ${plural(scored, "attempt")} (${percent(kept / scored)}), by ${keep}: ${plural(rows, "conversation")}${rows === 0 ? "" : ` in ${shownPath(out)}`}`,
    ...Object.entries(unreadable).map(([reason, times]) => `left out, ${count(times)}×: ${reason}`),
    ...Object.entries(errorCounts).map(([reason, times]) => `error, ${count(times)}×: ${reason}`),
    `${plural(requests, "request")}, ${counted ?? `${count(promptTokens)} prompt and ${count(completionTokens)} completion tokens, as the server counted them${lacking}${price}`}`,
  ];
}
