import { tokenF1 } from "./answer-text.ts";
import { lastBox } from "./box.ts";
import { type FormatFault, formatFault } from "./format.ts";

export type Verdict = FormatFault | "box_error" | "correct_multi_tool" | "correct" | "wrong";

export interface ResearchReward {
  /** −1 where the format is wrong; else how good the answer is, and the bonus. */
  readonly reward: number;
  /** How good the answer is, from 0 to 1, without the bonus. 0 where the format is wrong. */
  readonly quality: number;
  /** The content of the answer's last box; "" where the format is wrong. */
  readonly answer: string;
  readonly verdict: Verdict;
}

/** For an answer that is not worth nothing, where both tools' closing tags occur in the response. */
const bothToolsBonus = 0.1;

/**
 * ARPO's reward (arXiv:2507.19849, eq. 7) as its published code has it: −1 for a wrong format; else the answer's quality, with 0.1 on top where
 * that is above 0 and both tools were used. So it is −1 or between 0 and 1.1.
 * @param response the whole of what the model wrote, tools' results between it; without the question
 * @param golds answers that are right; the best one counts
 * @example
 * const response = "<think>Known.</think><answer>It is \\boxed{Etna}.</answer>";
 * researchReward(response, ["Etna", "Mount Etna"]); // reward 1, verdict "correct"
 */
export function researchReward(
  response: string,
  golds: readonly string[],
  qualityOf: (answer: string, golds: readonly string[]) => number = tokenF1,
): ResearchReward {
  const fault = formatFault(response);
  if (fault !== undefined) return { reward: -1, quality: 0, answer: "", verdict: fault };
  const [, inside = ""] = /<answer>(.*?)<\/answer>/s.exec(response) ?? [];
  const answer = lastBox(inside);
  if (answer === undefined) return { reward: -1, quality: 0, answer: "", verdict: "box_error" };
  const quality = qualityOf(answer, golds);
  if (quality === 0) return { reward: 0, quality, answer, verdict: "wrong" };
  const both = response.includes("</search>") && response.includes("</python>");
  return both
    ? { reward: quality + bothToolsBonus, quality, answer, verdict: "correct_multi_tool" }
    : { reward: quality, quality, answer, verdict: "correct" };
}
