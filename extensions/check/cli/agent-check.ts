import { count, percent, plural, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { wrap } from "../../../src/terminal/wrap.ts";
import { readTasks } from "../../agents/tasks.ts";
import { trainingOf } from "../../agents/train-agent.ts";
import { type AgentCheckReport, checkAgent } from "../agent-check.ts";
import { agentCommand } from "./agent-command.ts";

export interface AgentCheckFlags {
  readonly tasks?: string;
  readonly reward?: string;
  readonly json?: boolean;
}

const maxTasks = 100;

/** Plays policies that understand nothing against an agent. @returns the exit code: 1 where something was found */
export async function agentCheckCommand(agent: readonly string[], flags: AgentCheckFlags, screen: Screen): Promise<number> {
  const { json } = flags;
  const training = await trainingOf(agent, flags);
  const onProgress = (policy: string) => (json === true ? undefined : screen.status(`playing a policy that ${policy} …`));
  const all = readTasks(training.tasks);
  const tasks = all.slice(0, maxTasks);
  const report = await checkAgent({ ...training, tasks, onProgress }).finally(() => screen.clear());
  if (json === true) screen.line(JSON.stringify(report, null, 1));
  else {
    const of =
      all.length > report.tasks ? `the first ${report.tasks} of ${plural(all.length, "task")}` : plural(report.tasks, "task");
    screen.line(`${agent.join(" ")}, ${of}; scripted policies that understand nothing in place of its model`);
    for (const line of reportLines(report)) screen.line(line);
    const next =
      report.findings.length > 0
        ? "mend these, and check again: a model learns what is paid."
        : agentCommand("advise", agent, flags);
    for (const line of ["", ...findingLines(report, screen), `Next: ${next}`]) screen.line(line);
  }
  return report.findings.length > 0 ? 1 : 0;
}

function reportLines({ policies, solvedBy, tools, errors }: AgentCheckReport): string[] {
  const rows = policies.map(({ policy, success, reward, tasks }) => [
    ...[`  ${policy}`, percent(success), reward.toFixed(3), count(tasks)],
  ]);
  return [
    ...table([["  policy", "solves", "reward", "of"], ...rows]),
    `Attempted tasks that no policy solves: ${count(solvedBy.none)}; some: ${count(solvedBy.some)}; all: ${count(solvedBy.all)}. Tools that the model is shown: ${tools.join(", ") || "none"}`,
    ...Object.entries(errors).map(([reason, times]) => `Without a score, ${count(times)}×: ${reason}`),
  ];
}

export function findingLines(
  { findings, policies }: Pick<AgentCheckReport, "findings" | "policies">,
  { paint, width }: Screen,
): string[] {
  if (findings.length === 0)
    return [
      `Nothing found in ${count(Math.min(...policies.map((each) => each.tasks)))} or more attempts of each: no lazy policy is paid, no answer is in a prompt.`,
    ];
  return findings.flatMap((finding) => wrap(`! ${finding}`, width).map((line) => paint.yellow(line)));
}
