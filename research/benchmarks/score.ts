import { z } from "zod";
import { type FileRecord, textOrNumber } from "../../extensions/tools/records.ts";
import { EnvError } from "../../src/core/errors.ts";
import { researchReward } from "../arpo-protocol/reward.ts";
import { answerMetrics, predictedIn } from "./metrics.ts";
import type { Question } from "./questions.ts";

const text = z.string();
const golds = z.union([textOrNumber, z.array(textOrNumber).min(1)]);

/** A line of predictions. The output is a whole response, of which the answer is taken as ARPO's evaluation does; a prediction is the answer. */
const predictionSchema = z.looseObject({
  id: textOrNumber.optional(),
  question: text.optional(),
  output: text.optional(),
  response: text.optional(),
  prediction: text.optional(),
  answer: golds.optional(),
  gold: golds.optional(),
});

/** A judge's verdict; "unusable": it gave none. */
export type JudgeWord = "correct" | "incorrect" | "unusable";

export interface AnswerVerdict {
  /** The id of the question: lines with the same one are runs of it. */
  readonly id: string;
  readonly prediction: string;
  readonly em: number;
  readonly acc: number;
  readonly f1: number;
  readonly math_equal: number;
  /** Right by mathematics or by the judge. Absent without a judge. */
  readonly llm_equal?: number;
  /** The verdict of the judge; "not asked" where mathematics or an empty answer decides. */
  readonly judge?: JudgeWord | "not asked";
  /** `llm_equal` where there is a judge; else the benchmark's own metric: `math_equal` of mathematics, `f1` of questions. */
  readonly score: number;
}

/** An answer to a question, as a judge reads it. */
export interface AskedAnswer {
  readonly question: string;
  /** Any of them is right. */
  readonly golds: readonly string[];
  /** "" if there is none. */
  readonly prediction: string;
}

/** A line with what it is compared with. */
export interface PredictionLine extends Omit<AskedAnswer, "question"> {
  readonly id: string;
  /** Undefined if neither the line nor the benchmark's file has it. */
  readonly question: string | undefined;
}

/**
 * Scores one line of predictions as ARPO's evaluation does, without a judge.
 * @param questions by what they ask, if the benchmark's file is there; otherwise a line has its own `gold` or `answer`
 * @throws EnvError naming the line, the field and what was expected
 */
export function scorePrediction(
  record: FileRecord,
  ability: "math" | "qa",
  questions: ReadonlyMap<string, Question> | undefined,
): AnswerVerdict {
  return scoreLine(readPrediction(record, questions), ability);
}

/**
 * The same by a judge, who decides as in ARPO's evaluation: right if mathematics says so, or the judge does. Where it gives no usable reply mathematics alone counts.
 * @throws EnvError as above, or if there is no question to show; what the judge throws
 */
export async function judgePrediction(
  record: FileRecord,
  ability: "math" | "qa",
  questions: ReadonlyMap<string, Question> | undefined,
  judge: (answer: AskedAnswer) => Promise<JudgeWord>,
): Promise<AnswerVerdict> {
  const line = readPrediction(record, questions);
  const { question, golds, prediction } = line;
  const verdict = scoreLine(line, ability);
  if (question === undefined)
    throw new EnvError(`${record.where}: question`, undefined, { expected: "the question, which the judge reads" });
  const isJudged = prediction !== "" && verdict.math_equal !== 1;
  const said = isJudged ? await judge({ question, golds, prediction }) : "not asked";
  const right = verdict.math_equal === 1 || said === "correct" ? 1 : 0;
  return { ...verdict, llm_equal: right, judge: said, score: right };
}

function scoreLine({ id, golds, prediction }: PredictionLine, ability: "math" | "qa"): AnswerVerdict {
  const { em, acc, f1, mathEqual } = answerMetrics(prediction, golds, ability);
  return { id, prediction, em, acc, f1, math_equal: mathEqual, score: ability === "math" ? mathEqual : f1 };
}

/** Reads one line. @throws EnvError naming the line, the field and what was expected */
function readPrediction({ value, where }: FileRecord, questions: ReadonlyMap<string, Question> | undefined): PredictionLine {
  const line = read(predictionSchema, value, where);
  const { id, question, output, response, prediction: own } = line;
  const written = output ?? response;
  if (own === undefined && written === undefined)
    throw new EnvError(`${where}: output`, undefined, {
      expected: "the model's whole `output` (or `response`), or its `prediction`",
    });
  // Runs of a question may name it in different ways.
  const known = questions?.get(question ?? "") ?? questions?.get(id ?? "");
  const golds = goldsOfLine(where, line, known, questions !== undefined);
  const prediction = own ?? predictedIn(written ?? "");
  return { id: known?.question ?? id ?? question ?? where, question: known?.question ?? question, golds, prediction };
}

function goldsOfLine(
  where: string,
  { id, question, answer, gold: own = answer }: z.output<typeof predictionSchema>,
  known: Question | undefined,
  hasFile: boolean,
): readonly string[] {
  if (own !== undefined) return typeof own === "string" ? [own] : own;
  if (known !== undefined) return known.golds;
  throw new EnvError(`${where}: ${question === undefined ? "id" : "question"}`, question ?? id, {
    expected: !hasFile
      ? "a `gold` (or `answer`) in the line, since the benchmark's file is not there"
      : "the `question`, word for word, or its place in the file as `id` (from 0)",
    hint: !hasFile ? "Name the folder with the benchmark's file with --data." : undefined,
  });
}

/** A line for the reward that ARPO trains by. */
const rewardSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  response: text,
  groundTruth: golds,
});

/** Scores one line by ARPO's training reward. @throws EnvError naming the line, the field and what was expected */
export function scoreReward({ value, where }: FileRecord): Readonly<Record<string, unknown>> {
  const { id, response, groundTruth } = read(rewardSchema, value, where);
  const { reward, quality, answer, verdict } = researchReward(response, Array.isArray(groundTruth) ? groundTruth : [groundTruth]);
  return { ...(id === undefined ? {} : { id }), score: reward, f1: quality, answer, reasonCode: verdict };
}

/** @throws EnvError naming the line and its first field of another form */
function read<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue = { path: [], message: "another form" }] = parsed.error.issues;
  throw new EnvError(`${where}: ${issue.path.join(".") || "the line"}`, value, { expected: issue.message });
}
