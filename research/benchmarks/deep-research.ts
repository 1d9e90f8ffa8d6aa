import { EnvError } from "../../src/core/errors.ts";
import type { Message } from "../../src/core/messages.ts";
import { reachesOne } from "../../src/core/outcome.ts";
import { parseSettings } from "../../src/core/settings.ts";
import {
  type CustomarySplit,
  type Environment,
  type Episode,
  type Score,
  splits,
  type Task,
} from "../../src/environments/environment.ts";
import { type OneMessageProtocol, responseOf } from "../../src/environments/protocol.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { tokenF1 } from "../arpo-protocol/answer-text.ts";
import { systemPrompts } from "../arpo-protocol/prompt.ts";
import { researchProtocol } from "../arpo-protocol/protocol.ts";
import { researchReward } from "../arpo-protocol/reward.ts";
import { researchTools, type WriteResults } from "../arpo-protocol/tools.ts";
import { type DeepSearch, openDeepSearch } from "./deep-search.ts";
import { mathEqual } from "./math-equal.ts";
import { type AnswerMetrics, answerMetrics, pairedCalls, predictedIn, withoutResults } from "./metrics.ts";
import { openQuestions, type Question, wordsOfQuestion } from "./questions.ts";
import { searchOf } from "./search.ts";
import { type DeepResearchSettings, deepResearchSettingsSchema } from "./settings.ts";

export interface QuestionTask extends Task {
  readonly question: Question;
}

interface Loaded {
  readonly questions: Readonly<Record<CustomarySplit, readonly Question[]>>;
  readonly tools: readonly Tool[];
}

/**
 * Questions with known answers, searched for and calculated in ARPO's protocol, with ARPO's reward (arXiv:2507.19849).
 * An episode is one assistant message, and holds no state: it can be copied for nothing.
 * @throws ConfigError naming the first setting, file or record that is wrong; Parquet's records and the corpus are read with the first task
 * @example
 * const environment = deepResearchEnvironment({
 *   data: { train: "questions.jsonl", test: "test.parquet" },
 *   search: { kind: "local", path: "wikipedia/" },
 * });
 * await environment.size("train");
 */
export function deepResearchEnvironment(
  userSettings: unknown = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): Environment<QuestionTask> {
  const settings = parseSettings(deepResearchSettingsSchema, userSettings, "environment.settings");
  const files = Object.fromEntries(splits.map((split) => [split, filesOf(settings, split)]));
  const readSearch = searchOf(settings, env);
  const protocol = researchProtocol({
    kind: settings.protocol,
    limits: settings.limits,
    maxResponseTokens: settings.limits.responseTokens,
  });

  const deep = settings.deepSearch === undefined ? undefined : openDeepSearch(settings.deepSearch, env);
  const write =
    deep === undefined
      ? undefined
      : (...[results, query, signal]: Parameters<WriteResults>) => deep.write(query, results, signal);

  const load = async (): Promise<Loaded> => {
    const read = async (split: CustomarySplit) => (await Promise.all((files[split] ?? []).map((file) => file.read()))).flat();
    const [validation, test, challenge] = await Promise.all([read("validation"), read("test"), read("challenge")]);
    const train = withoutLeaks(await read("train"), [...validation, ...test, ...challenge]);
    return { questions: { train, validation, test, challenge }, tools: researchTools(await readSearch(), settings, write) };
  };
  let loading: Promise<Loaded> | undefined;
  const loaded = () => (loading ??= load());

  return {
    name: "deep-research",
    // What is left out of a split is replaced by others of it, so that the number is known before anything is read.
    size: (split) => (files[split as CustomarySplit] ?? []).reduce((sum, { count }) => sum + count, 0),
    task: async (split, index) => {
      const questions = (await loaded()).questions[split as CustomarySplit] ?? [];
      const question = questions[index % Math.max(1, questions.length)];
      if (question === undefined) throw new EnvError("deep-research split", split, { expected: "a split with questions" });
      return { id: `${split}/${index}`, kind: question.ability ?? settings.ability, question };
    },
    start: async ({ question }) => episodeOf(question, (await loaded()).tools, protocol, settings, deep),
    metrics: [...metricNames, "searches", "calculations"],
  };
}

function filesOf({ data }: DeepResearchSettings, split: CustomarySplit) {
  const paths = data[split] ?? [];
  return (typeof paths === "string" ? [paths] : paths).map((path) => openQuestions(path, `environment.settings.data.${split}`));
}

/** @throws EnvError where nothing is left */
function withoutLeaks(train: readonly Question[], others: readonly Question[]): readonly Question[] {
  const heldOut = new Set(others.map(({ question }) => wordsOfQuestion(question)));
  const left = train.filter(({ question }) => !heldOut.has(wordsOfQuestion(question)));
  if (left.length > 0 || train.length === 0) return left;
  throw new EnvError("deep-research training questions", train.length, {
    expected: "some that are in no other split",
    hint: "Questions of other splits are left out of training. Name another file under environment.settings.data.train.",
  });
}

function episodeOf(
  question: Question,
  tools: readonly Tool[],
  protocol: OneMessageProtocol,
  settings: DeepResearchSettings,
  deep: DeepSearch | undefined,
): Episode {
  const messages: readonly Message[] = question.prompt ?? [
    { role: "system", content: settings.system ?? systemPrompts[settings.prompt] },
    { role: "user", content: question.question },
  ];
  const episode: Episode = {
    messages,
    tools,
    protocol,
    reply: () => ({ done: true }),
    score: (conversation) => {
      deep?.requireSummaries();
      return scoreOf(question, responseOf(conversation, protocol.continuation.write), settings);
    },
    clone: () => episode,
  };
  return episode;
}

/** The metrics of ARPO's evaluation. */
const metricNames = ["em", "acc", "f1", "mathEqual"] as const satisfies readonly (keyof AnswerMetrics)[];

/**
 * The reward of training, and the metrics of the evaluation. Success is a reward of 1 in the protocol of training, whose reward wants the format; in that of the
 * evaluation it is the equality of formulas, or of texts (em) for other questions, whatever the format.
 */
function scoreOf(question: Question, response: string, settings: DeepResearchSettings): Score {
  const { golds } = question;
  const math = (question.ability ?? settings.ability) === "math";
  const grade = math && settings.grader === "by-ability" ? equality : tokenF1;
  const { reward, quality, verdict } = researchReward(response, golds, grade);
  const metrics = answerMetrics(predictedIn(response), golds, math ? "math" : "qa");
  const right = math ? metrics.mathEqual : metrics.em;
  return {
    reward,
    scores: {
      success: settings.protocol === "evaluation" ? right : Number(reachesOne(quality)),
      format: Number(reward >= 0),
      bothTools: Number(verdict === "correct_multi_tool"),
      ...metrics,
      searches: pairedCalls(response, "search"),
      calculations: pairedCalls(response, "python"),
      outputLength: Array.from(withoutResults(response)).length,
    },
  };
}

function equality(answer: string, golds: readonly string[]): number {
  return Number(golds.some((gold) => mathEqual(answer, gold)));
}
