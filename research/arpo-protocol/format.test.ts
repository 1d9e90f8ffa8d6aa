import { expect, test } from "vitest";
import { formatFault } from "./format.ts";

const [think, answer] = ["<think>t</think>", "<answer>\\boxed{1}</answer>"];
const result = "<result>r</result>";

test.each([
  [think + answer, undefined],
  [`${think}<search>q</search>${result}<python>1</python>${result}${answer}`, undefined],
  [`<think>${answer}`, "think_unpaired"],
  [answer, "think_missing"],
  [think, "answer_count"],
  [think + answer + answer, "answer_count"],
  [`${think}<answer>\\boxed{1}`, "answer_count"],
  [`${think}<search>q${result}${answer}`, "search_incomplete"],
  [`${think}<search>q${result}</search>${answer}`, "search_order"],
  [`${think}<python>1${result}${answer}`, "python_incomplete"],
  [`${think}<python>1${result}</python>${answer}`, "python_order"],
  [`${think}<search>q</search>${answer}`, "search_incomplete"],
  [`${think}</answer>\\boxed{1}<answer>`, "answer_order"],
  [`${think}<answer>1</answer>\\boxed{1}`, "box_missing"],
  [`\\boxed{1}${think}<answer>1</answer>`, "box_missing"],
  [`${think}<answer>\\boxed{1</answer>}`, "box_missing"],
  [`${think}<answer>1}</answer>`, "box_missing"],
])("%s: %s", (response, fault) => {
  expect(formatFault(response)).toBe(fault);
});
