/** A formula without what means nothing, and the name before its equals sign. */
export interface PlainFormula {
  readonly text: string;
  /** The x of `x=5`. */
  readonly name: string | undefined;
  /** The cm of `5\text{ cm}`. */
  readonly unit: string | undefined;
}

/**
 * Removes what is typography: dollar signs, spaces, degrees, sizes of brackets and fractions, a full stop, and commas between thousands. Unit and
 * name are kept apart, and percent signs stay, so that `5\text{ cm}` is not 5 metres and `50\%` is a half.
 */
export function plainFormula(formula: string): PlainFormula {
  const text = formula
    .replace(/\\left|\\right|\\!|\\,|\\;|\\ |\\\$|\$|\^\{?\\circ\}?/g, "")
    .replace(/\\[dt]frac/g, "\\frac")
    .replace(/\\(?:mbox|textbf|mathrm|operatorname)\{/g, "\\text{")
    .replace(/^\s*\\text\{([^{}]*)\}\s*$/, "$1")
    .replace(/(?<![\d.])(\d{1,3}(?:(?:,|\{,\})\d{3})+)(?![\d,])/g, (number) => number.replace(/\{,\}|,/g, ""))
    .trim()
    .replace(/\.$/, "")
    .trim();
  const [, name, value = text] = /^([A-Za-z])\s*=\s*([^=]+)$/.exec(text) ?? [];
  const [, number = value, unit] = /^(.*\S)\s*\\text\{([^{}]*)\}$/.exec(value) ?? [];
  return { text: number.trim(), name, unit: unit?.trim() };
}
