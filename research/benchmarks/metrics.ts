import { overlapF1, trim, withoutArticles, withoutCase } from "../arpo-protocol/answer-text.ts";
import { closingBrace } from "../arpo-protocol/box.ts";
import { mathEqual } from "./math-equal.ts";

/** ARPO's evaluation of an answer, each from 0 to 1. They know no format, and no calls. */
export interface AnswerMetrics {
  /** The same, up to case and white space. */
  readonly em: number;
  /** The gold answer is a part of it. */
  readonly acc: number;
  /** The F1 of their words, as multisets. */
  readonly f1: number;
  /** The same formula: `mathEqual`. */
  readonly mathEqual: number;
}

const noMetrics: AnswerMetrics = { em: 0, acc: 0, f1: 0, mathEqual: 0 };

/** The metrics of an answer: of mathematics by the first gold; of questions without articles, each the best over the golds. 0 without a prediction. */
export function answerMetrics(prediction: string, golds: readonly string[], ability: "math" | "qa"): AnswerMetrics {
  if (prediction === "") return noMetrics;
  if (ability === "math") return metricsOf(withoutCase(prediction), withoutCase(golds[0] ?? ""));
  return (golds.length === 1 ? goldsOf(golds[0]) : golds)
    .map((gold) => metricsOf(withoutArticles(prediction), withoutArticles(gold)))
    .reduce(
      (best, each) => ({
        em: Math.max(best.em, each.em),
        acc: Math.max(best.acc, each.acc),
        f1: Math.max(best.f1, each.f1),
        mathEqual: Math.max(best.mathEqual, each.mathEqual),
      }),
      noMetrics,
    );
}

function metricsOf(prediction: string, gold: string): AnswerMetrics {
  return {
    em: Number(prediction === gold),
    acc: Number(prediction.includes(gold)),
    f1: overlapF1(wordsOf(prediction), wordsOf(gold)),
    mathEqual: Number(mathEqual(prediction, gold)),
  };
}

function wordsOf(normalised: string): string[] {
  return normalised === "" ? [] : normalised.split(" ");
}

/** A gold answer that is written as a list is split at its commas; quotes stay on the parts, as in the published code. */
export function goldsOf(gold: string): readonly string[] {
  return gold.startsWith("[")
    ? gold
        .replace(/^[[\]]+|[[\]]+$/g, "")
        .split(",")
        .map(trim)
    : [gold];
}

/**
 * Returns the text that is evaluated: the last box of the last answer, without it the whole answer; without an answer the last box
 * of all. "" if there is none.
 * An empty box is none, and an empty answer is none. A `\text{…}` that fills its box is taken off.
 */
export function predictionOf(output: string): string {
  const end = output.lastIndexOf("</answer>");
  const start = end === -1 ? -1 : output.slice(0, end).lastIndexOf("<answer>");
  const answer = start === -1 ? "" : output.slice(start + "<answer>".length, end);
  return answer === "" ? boxIn(output) : boxIn(answer) || answer;
}

/** Other than for the reward, an `\fbox` counts where there is no `\boxed`, and what is no whole `\boxed{…}` stays as it is written. */
function boxIn(text: string): string {
  const whole = trim(text);
  const start = whole.lastIndexOf(whole.includes("\\boxed") ? "\\boxed" : "\\fbox");
  if (start === -1) return "";
  const end = closingBrace(whole, start);
  const box = whole.slice(start, end === undefined ? undefined : end + 1);
  const content = between("\\boxed{", box);
  return content === undefined ? box : (between("\\text{", content) ?? content);
}

function between(opening: string, text: string): string | undefined {
  return text.startsWith(opening) && text.endsWith("}") ? text.slice(opening.length, -1) : undefined;
}

/** Returns the prediction of a response; its last five lines where there is none. */
export function predictedIn(output: string): string {
  return predictionOf(output) || trim(output.replaceAll("\n\n", "\n")).split("\n").slice(-5).join("\n");
}

/** Calls with both of their tags: how the published evaluation counts them, for whoever compares numbers with it. Our runs count calls that were made. */
export function pairedCalls(output: string, tool: "search" | "python"): number {
  return blocksOf(output, tool).length;
}

/**
 * Returns the text that the model wrote itself, by the published code's expressions; an older form of the tags is known too. Our
 * episodes keep the two apart from the start.
 */
export function withoutResults(output: string): string {
  return trim(without(without(output, "r"), "result"));
}

function without(text: string, tag: string): string {
  const blocks = blocksOf(text, tag);
  return blocks.map(([start], i) => text.slice(blocks[i - 1]?.[1] ?? 0, start)).join("") + text.slice(blocks.at(-1)?.[1] ?? 0);
}

/** From each opening tag to the next closing one: where it starts, and where it has ended. */
function blocksOf(text: string, tag: string): readonly (readonly [start: number, end: number])[] {
  const blocks: [number, number][] = [];
  for (let at = 0; ; ) {
    const start = text.indexOf(`<${tag}>`, at);
    const closing = start === -1 ? -1 : text.indexOf(`</${tag}>`, start);
    if (closing === -1) return blocks;
    at = closing + tag.length + 3;
    blocks.push([start, at]);
  }
}

/** GSM8K's solutions end in `#### ` and the answer. */
export function gsm8kAnswer(solution: string): string {
  const at = solution.lastIndexOf("#### ");
  return trim(solution.slice(at === -1 ? 0 : at + "#### ".length)).replaceAll(",", "");
}
