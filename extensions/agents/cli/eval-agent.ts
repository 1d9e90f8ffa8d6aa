import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { shownEpisodes } from "../../../src/cli/conversation.ts";
import { wholeNumber } from "../../../src/cli/numbers.ts";
import { type EvalFlags, evaluationFlags, settingsOf } from "../../../src/cli/settings.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { errorsLine, type Outcome, verdictWithheld } from "../../../src/core/outcome.ts";
import { present } from "../../../src/core/present.ts";
import { runsFolder } from "../../../src/runs/layout.ts";
import { newRunFolder, removeIfEmpty } from "../../../src/runs/write.ts";
import { count, detectable, interval, percent, plural, points, pText } from "../../../src/terminal/format.ts";
import { interruptedExitCode, interruptible } from "../../../src/terminal/interrupt.ts";
import { commandPrefix, quoted, shownPath } from "../../../src/terminal/invocation.ts";
import { rewardText } from "../../../src/terminal/progress.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { type AgentEvaluation, type EvaluatedAgent, evaluateFollowed } from "../evaluate-agent.ts";
import { compareAgents, counted, type MeasuredAgent } from "../measure.ts";
import { readTasks, splitTasks } from "../tasks.ts";
import { trainingOf } from "../train-agent.ts";

/**
 * Measures an agent on the tasks of a file: with a model of this machine, one of an endpoint, or its own. With `--compare` with two of them,
 * paired.
 * @returns the exit code
 */
export async function evalAgentCommand(agent: string, flags: EvalFlags, output: Screen, screen: Screen): Promise<number> {
  const { split = "test", k = "1", out, compare, json } = flags;
  const { tasks: file, ...training } = await trainingOf(agent.split(" "), flags);
  const served = servedBy(flags);
  const all = readTasks(resolve(file));
  if (split !== "test" && split !== "train" && split !== "all")
    throw new ConfigError("--split", split, { expected: ["test", "train", "all"] });
  const tasks = split === "all" ? all : splitTasks(all)[split];
  const models = compare ?? [modelName(flags)];
  if (compare !== undefined && compare.length !== 2) throw new ConfigError("--compare", compare, { expected: "two models" });
  const evaluation = { ...training, tasks, k: wholeNumber("--k", String(k)), split };
  const measured: EvaluatedAgent<(typeof tasks)[number]>[] = [];
  const folders: string[] = [];
  for (const [i, model] of models.entries()) {
    const { temperature, seed = 1 } = served;
    const asks = temperature === undefined ? "sampled as the agent asks" : `at temperature ${temperature}`;
    const chosen = model === undefined ? {} : modelOf(model, process.env);
    screen.line(
      `${models.length > 1 ? `${"AB"[i]}  ` : ""}${agent} with ${model ?? "its own model"}: ${plural(tasks.length, "task")}${chosen.model === undefined ? "" : `, ${asks}, seed ${seed}`}`,
    );
    const given = typeof out === "string" ? join(out, models.length > 1 ? "ab".charAt(i) : "") : undefined;
    const folder = given ?? newRunFolder(runsFolder, `eval-${basename(agent)}-${basename(model?.split("@")[0] ?? "own")}`);
    const again = `${models.length > 1 ? `--model ${model} instead of --compare, and ` : ""}--out ${quoted(shownPath(resolve(folder)))}`;
    const kept = () =>
      screen.line(
        existsSync(folder)
          ? `Interrupted. Attempts that have ended are kept: the same command with ${again} continues`
          : "Interrupted: no attempt has ended",
      );
    const each = await interruptible(kept, (signal) =>
      evaluateFollowed(
        { ...evaluation, out: folder, ...chosen, ...served, signal },
        following(tasks.length * evaluation.k, screen),
      ).finally(() => removeIfEmpty(folder)),
    ).finally(() => screen.clear());
    if (each === undefined) return interruptedExitCode;
    for (const line of linesOf(each)) screen.line(`   ${line}`);
    measured.push(each);
    folders.push(shownPath(resolve(folder)));
  }
  const [a, b] = measured;
  const withheld = compare && verdictWithheld(measured, ["A", "B"]);
  const difference = compare && withheld === undefined ? compareAgents(present(a, "A"), present(b, "B")) : undefined;
  if (withheld !== undefined) screen.line(`B − A: ${withheld}`);
  if (difference !== undefined) {
    const { better, worse, tasks: paired, smallest, pValue } = difference;
    screen.line("B − A, on the same tasks");
    screen.line(`   reward ${points(difference.difference)}, ${pText(pValue)}`);
    screen.line(`   ${plural(better, "task")} better, ${count(worse)} worse of ${count(paired)}; ${detectable(smallest, true)}`);
    const errors = errorsLine(measured, ["A", "B"]);
    if (errors !== undefined) screen.line(`   ${errors}`);
  }
  if (json === true) {
    const whole = measured.map(({ episodes: _, ...each }) => each);
    output.line(JSON.stringify({ agent, split, models, folders, measured: whole, difference, withheld }, null, 2));
  } else for (const line of endLines(measured, folders, flags.show, screen)) screen.line(line);
  return withheld === undefined ? 0 : 1;
}

/** An episode of the last model, and where all episodes are. */
function endLines(
  measured: readonly EvaluatedAgent<object>[],
  folders: readonly string[],
  show: string | undefined,
  { paint, width }: Screen,
): string[] {
  const { episodes } = present(measured.at(-1), "a measured agent");
  const [first = "", second] = folders;
  return [
    ...shownEpisodes(episodes, show, paint, width),
    "",
    `Every episode: ${folders.join(" and ")} (runs show, dashboard)`,
    `Read one: ${commandPrefix()} trajectory ${quoted(second ?? first)} ${present(episodes[0], "an episode").id}`,
    ...(second === undefined ? [] : [`Compare: ${commandPrefix()} runs compare ${quoted(first)} ${quoted(second)}`]),
  ];
}

/** Returns the settings of a model of this machine among the flags. */
function servedBy(flags: EvalFlags): Pick<AgentEvaluation, "engine" | "temperature" | "seed"> {
  const { engine, evaluation, seed } = settingsOf(evaluationFlags, flags);
  return { engine, temperature: evaluation?.temperature, seed };
}

/** The model of `--model` and `--endpoint`, as `--compare` writes one. */
function modelName(flags: EvalFlags): string | undefined {
  const { model, endpoint } = flags as { readonly model?: string; readonly endpoint?: string };
  if (endpoint === undefined) return model;
  if (model !== undefined) return `${model}@${endpoint}`;
  throw new ConfigError("--model", "none", { expected: `the name of a model at ${endpoint}` });
}

/** A model by its name: one of this machine, or NAME@ADDRESS of an endpoint. Its key is the variable OPENAI_API_KEY. */
export function modelOf(
  model: string,
  env: Readonly<Record<string, string | undefined>>,
): Pick<AgentEvaluation, "endpoint" | "model"> {
  const found = /^(.*)@(https?:\/\/.*)$/.exec(model);
  if (found === null) return { model };
  const [, name, baseUrl] = found;
  return { endpoint: { baseUrl: present(baseUrl, "an address"), name, apiKey: env.OPENAI_API_KEY ?? "none" } };
}

/** How attempts ended, those of an earlier call too: success, reward, failures of the agent and errors. */
export function linesOf(measured: MeasuredAgent<object> & { readonly resumed: number }): string[] {
  const { k, attempts, reward, success, allSucceed, tasks, resumed } = measured;
  const all = (what: "errors" | "failures") => tasks.flatMap((task) => task[what].filter((each) => each !== undefined));
  const [errors, failures] = [all("errors"), all("failures")];
  return [
    `success ${interval(success)}, reward ${rewardText(reward)}`,
    ...(resumed === 0 ? [] : [`${plural(resumed, "attempt")} had been played already`]),
    ...(k > 1 && allSucceed !== undefined ? [`all ${k} attempts at a task succeed: ${percent(allSucceed)} (pass^${k})`] : []),
    ...(failures.length === 0
      ? []
      : [`${plural(failures.length, "attempt")} failed by an error of the agent (reward 0), the first: ${failures[0]}`]),
    ...(errors.length === 0
      ? []
      : [`${count(errors.length)} of ${plural(attempts, "attempt")} ended by an error and are not counted${commonest(errors)}`]),
  ];
}

/** The time between two lines without a terminal, in milliseconds. */
const betweenLines = 30_000;

/** Shows how many attempts have ended: on a terminal in its last line, elsewhere in a line now and then. @param now of any clock, in milliseconds */
export function following(
  all: number,
  { live, line, status }: Pick<Screen, "live" | "line" | "status">,
  now = () => performance.now(),
): (outcome: Outcome) => void {
  let [done, shown] = [0, now()];
  const errors: string[] = [];
  return (outcome) => {
    done++;
    if (outcome.kind === "error") errors.push(outcome.error);
    const failed = errors.length === 0 ? "" : `, ${count(errors.length)} by an error${commonest(errors)}`;
    const text = `${count(done)} of ${plural(all, "attempt")} ended${failed}`;
    if (live) return status(text);
    if (done === all || now() - shown < betweenLines) return;
    shown = now();
    line(`   ${text}`);
  };
}

/** Names the error that most attempts ended by, and how many. */
function commonest(errors: readonly string[]): string {
  const [reason, times] = present(Object.entries(counted(errors)).sort((a, b) => b[1] - a[1])[0], "an error");
  return times === errors.length ? `: ${reason}` : `, ${count(times)} of them by: ${reason}`;
}
