export type FormatFault =
  | "think_unpaired"
  | "think_missing"
  | "answer_count"
  | "search_incomplete"
  | "search_order"
  | "python_incomplete"
  | "python_order"
  | "answer_order"
  | "box_missing";

/**
 * Returns the first fault of a response's tags, in this order; undefined if there is none.
 *
 * As lenient as the published code: nesting is not looked at, two searches may share a result, and so may a search and a Python call.
 */
export function formatFault(response: string): FormatFault | undefined {
  const thoughts = count(response, "<think>");
  if (thoughts !== count(response, "</think>")) return "think_unpaired";
  if (thoughts === 0) return "think_missing";
  if (count(response, "<answer>") !== 1 || count(response, "</answer>") !== 1) return "answer_count";
  const search = callFault(response, "search");
  if (search !== undefined) return `search_${search}`;
  const python = callFault(response, "python");
  if (python !== undefined) return `python_${python}`;
  const [start, end] = [response.indexOf("<answer>"), response.indexOf("</answer>")];
  if (start > end) return "answer_order";
  const answer = response.slice(start, end);
  return answer.includes("\\boxed{") && answer.includes("}") ? undefined : "box_missing";
}

/** Every call, from the end of the result before it on, has its closing tag and then a result. */
function callFault(response: string, tool: "search" | "python"): "incomplete" | "order" | undefined {
  for (let call = response.indexOf(`<${tool}>`); call !== -1; ) {
    const result = response.indexOf("<result>", call);
    const callEnd = response.indexOf(`</${tool}>`, call);
    const resultEnd = result === -1 ? -1 : response.indexOf("</result>", result);
    if (result === -1 || callEnd === -1 || resultEnd === -1) return "incomplete";
    if (!(call < callEnd && callEnd < result && result < resultEnd)) return "order";
    call = response.indexOf(`<${tool}>`, resultEnd);
  }
  return undefined;
}

export function count(text: string, part: string): number {
  return text.split(part).length - 1;
}
