/**
 * Whether two formulas are the same string after a clean-up of their LaTeX, as the evaluation of MATH does it (Hendrycks et al., arXiv:2103.03874).
 * Nothing is calculated: `\frac{2}{4}` is not `\frac{1}{2}`. Where one of them cannot be cleaned up, both are compared as they are.
 */
export function mathEqual(answer: string, gold: string): boolean {
  const [a, b] = [cleaned(answer), cleaned(gold)];
  return a === undefined || b === undefined ? answer === gold : a === b;
}

/** In the order of the published code: what one leaves may be the next. */
const cleanUp = [
  ["\n", ""],
  ["\\!", ""],
  ["\\\\", "\\"],
  ["tfrac", "frac"],
  ["dfrac", "frac"],
  ["\\left", ""],
  ["\\right", ""],
  ["^{\\circ}", ""],
  ["^\\circ", ""],
  ["\\$", ""],
] as const;

function cleaned(formula: string): string | undefined {
  const plain = cleanUp.reduce((text, [from, to]) => text.replaceAll(from, to), formula);
  const number = withoutUnit(plain)?.replaceAll("\\%", "").replaceAll(" .", " 0.").replaceAll("{.", "{0.");
  if (number === undefined || number === "") return number;
  const rooted = bracedRoots(withoutName(number.startsWith(".") ? `0${number}` : number));
  const fractions = rooted === undefined ? undefined : bracedFractions(rooted.replaceAll(" ", ""));
  if (fractions === undefined) return undefined;
  return fractions === "0.5" ? "\\frac{1}{2}" : fractions.replace(/^(-?[1-9]\d*|0)\/(-?[1-9]\d*|0)$/, "\\frac{$1}{$2}");
}

/** A unit is a text after a space: `5\text{ cm}`. */
function withoutUnit(formula: string): string | undefined {
  const parts = formula.split("\\text{ ");
  return parts.length > 2 ? undefined : parts[0];
}

/** `x=5`: what stands before the only equals sign is dropped where it is no longer than two characters. */
function withoutName(formula: string): string {
  const [name, value, ...more] = formula.split("=");
  return value !== undefined && more.length === 0 && [...name].length <= 2 ? value : formula;
}

/** `\sqrt2` becomes `\sqrt{2}`. */
function bracedRoots(formula: string): string | undefined {
  const [before, ...roots] = formula.split("\\sqrt");
  if (roots.includes("")) return undefined;
  return before + roots.map((root) => (root.startsWith("{") ? `\\sqrt${root}` : `\\sqrt{${root[0]}}${root.slice(1)}`)).join("");
}

/** `\frac12` and `\frac1{2}` become `\frac{1}{2}`; the first that breaks off decides: after one character all stay as they are. */
function bracedFractions(formula: string): string | undefined {
  const [before, ...fractions] = formula.split("\\frac");
  const short = fractions.find((rest) => !rest.startsWith("{") && rest.length < 2);
  if (short !== undefined) return short === "" ? undefined : formula;
  const braced = fractions.map((rest) => {
    if (rest.startsWith("{")) return `\\frac${rest}`;
    const [numerator, next] = rest;
    return next === "{" ? `\\frac{${numerator}}{${rest.slice(2)}` : `\\frac{${numerator}}{${next}}${rest.slice(2)}`;
  });
  return before + braced.join("");
}
