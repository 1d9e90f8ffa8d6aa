/** A formula without what means nothing, and the name before its equals sign. */
export interface PlainFormula {
  readonly text: string;
  /** The x of `x=5`, the f(x) of `f(x)=x^2`, the (p,q) of `(p,q)=(3,2)`. */
  readonly name: string | undefined;
  /** The cm of `5\text{ cm}`, the % of `50\%`. */
  readonly unit: string | undefined;
}

const variable = String.raw`(?:[A-Za-z]|[A-Z]{2,}|\\[a-z]+)(?:_\w|_\{\w+\})?(?:\([a-z]\))?`;
const named = new RegExp(String.raw`^(${variable}|\(${variable}(?:\s*,\s*${variable})+\))\s*(?:=|\\in(?![a-z]))\s*([^=]+)$`);
const withUnit = /^(.*[^\s\\])\s*(?:\\text\{([^{}]*)\}|\\?(%))$/;

/** Returns the answers that a formula lists: two for `2, 3`, for `\{2,3\}`, for `6 \text{ and } 8` and for `\pm 2`; one where it is no list. */
export function plainAnswers(formula: string): PlainFormula[] {
  const text = withoutTypography(formula).replace(/\\text\{\s*,?\s*(?:and|or)\s*\}/g, ",");
  return partsOf(/^\\?\{([^{}]*)\\?\}$/.exec(text)?.[1] ?? text)
    .flatMap((part) => (part.split("\\pm").length === 2 ? ["+", "-"].map((sign) => part.replace("\\pm", sign)) : [part]))
    .map(plainAnswer);
}

/** Splits at the commas and semicolons that no bracket encloses: `[0,1)` stays whole. */
function partsOf(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const character of text) {
    if ("([{".includes(character)) depth++;
    if (")]}".includes(character)) depth--;
    if (depth === 0 && ",;".includes(character)) parts.push("");
    else parts.push(parts.pop() + character);
  }
  return depth === 0 && parts.length <= maxAnswers && parts.every((part) => part.trim() !== "") ? parts : [text];
}

const maxAnswers = 50;

/**
 * Removes what is typography: dollar signs, spaces, degrees, sizes of brackets and fractions, a full stop, and commas between thousands.
 */
function withoutTypography(formula: string): string {
  return (
    formula
      // A row of a matrix ends in two backslashes.
      .replace(/\\left|\\right|(?<!\\)\\[!,; $]|\\q?quad|\$|\^\{?\\circ\}?|°/g, "")
      .replace(/\\[cdt]frac/g, "\\frac")
      // Nobody means 2^{1}0.
      .replace(/\^(-\d+|\d{2,})/g, "^{$1}")
      .replace(/\\(?:mbox|textbf|mathrm|operatorname)\{/g, "\\text{")
      .replace(/^\s*\\text\{([^{}]*)\}\s*$/, "$1")
      .replace(/(?<![\d.])(\d{1,3}(?:(?:,|\{,\})\d{3})+)(?![\d,])/g, (number) => number.replace(/\{,\}|,/g, ""))
      .trim()
      .replace(/\.$/, "")
      .trim()
  );
}

/** Unit and name are kept apart, so that `5\text{ cm}` is not 5 metres. */
function plainAnswer(answer: string): PlainFormula {
  const text = answer.trim();
  const [, name, value = text] = named.exec(text) ?? [];
  const [, number = value, unit, percent] = withUnit.exec(value) ?? [];
  return { text: number.trim(), name: name?.replace(/\s/g, ""), unit: percent ?? unit?.trim() };
}
