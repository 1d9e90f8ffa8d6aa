// Decides whether two formulas are equal, in a thread of its own: a formula can take for ever, and only a thread can be ended.
import { parentPort, workerData } from "node:worker_threads";

const { ComputeEngine } = await import(workerData.library);
const engine = new ComputeEngine();

/** Points at which expressions with variables are compared: nothing special about any of them. */
const points = [0.7310585786, 1.6180339887, 2.2360679775, 3.3166247904];

parentPort.on("message", ({ id, answer, gold }) => {
  let verdict;
  try {
    verdict = same(parsed(answer), parsed(gold));
  } catch {
    verdict = undefined;
  }
  parentPort.postMessage({ id, verdict });
});

function parsed(latex) {
  const expression = engine.parse(latex);
  if (latex.trim() === "" || JSON.stringify(expression.json).includes('"Error"')) throw new Error("no formula");
  return expression;
}

/** True, false, or undefined where it cannot be decided. */
function same(a, b) {
  if (a.isSame(b)) return true;
  const collections = ["Tuple", "Pair", "Triple", "Sequence", "List", "Set", "Union", "Matrix", "Interval", "Open", "Delimiter"];
  const [whole, other] = [headOf(a), headOf(b)];
  if (collections.includes(whole) || collections.includes(other)) {
    if (whole !== other) return false;
    // Its other operands are its brackets.
    if (whole === "Matrix") return same(a.ops[0], b.ops[0]);
    if (a.ops.length !== b.ops.length) return false;
    return whole === "Set" || whole === "Union" ? sameSet(a.ops, b.ops) : all(a.ops.map((each, i) => same(each, b.ops[i])));
  }
  const [exact, otherExact] = [a.evaluate(), b.evaluate()];
  if (exact.isInteger && otherExact.isInteger) return exact.isSame(otherExact);
  if (whole === "Equal" && other === "Equal" && a.ops.length === 2 && b.ops.length === 2) return sameEquation(a, b);
  if (a.isEqual(b) === true) return true;
  const unknowns = unknownsOf(a, b);
  return unknowns.length === 0 ? close(numberOf(a), numberOf(b)) : sameAtPoints(a, b, unknowns);
}

function headOf(expression) {
  return typeof expression.operator === "string" ? expression.operator : expression.head;
}

function sameSet(a, b) {
  const matches = (each, others) => others.some((other) => same(each, other) === true);
  return a.every((each) => matches(each, b)) && b.every((each) => matches(each, a));
}

function all(verdicts) {
  if (verdicts.includes(false)) return false;
  return verdicts.includes(undefined) ? undefined : true;
}

/** Two equations are one if the differences of their sides have the same ratio at each point. One that always holds is none. */
function sameEquation(a, b) {
  const [f, g] = [a, b].map(({ ops }) => engine.box(["Subtract", ...ops]));
  const values = valuesAtPoints([f, g], unknownsOf(a, b));
  if (values.flat().includes(undefined)) return undefined;
  const ratios = [0, 1].map((side) => values.map((pair) => pair[side][0] / values[0][side][0]));
  return values.flat().every(([, imaginary]) => imaginary === 0) ? close(...ratios) : undefined;
}

/** Compares values where each variable has another value in each of several points. */
function sameAtPoints(a, b, unknowns) {
  const decided = valuesAtPoints([a, b], unknowns).filter((values) => !values.includes(undefined));
  return decided.length === 0 ? undefined : decided.every(([x, y]) => close(x, y));
}

function valuesAtPoints(expressions, unknowns) {
  return points.map((_, i) => {
    const values = Object.fromEntries(unknowns.map((name, j) => [name, points[(i + j) % points.length] * (1 + j)]));
    return expressions.map((each) => numberOf(each.subs(values)));
  });
}

function unknownsOf(a, b) {
  return [...new Set([...a.unknowns, ...b.unknowns])];
}

/** A number as its real and imaginary part; undefined if it is none. */
function numberOf(expression) {
  const value = expression.N();
  const real = value.re ?? Number.NaN;
  const imaginary = value.im ?? 0;
  return Number.isNaN(real) || Number.isNaN(imaginary) ? undefined : [real, imaginary];
}

/** Equal to nine digits. Infinity equals itself alone. */
function close(a, b) {
  if (a === undefined || b === undefined) return undefined;
  const near = (x, y) => Number.isFinite(x - y) && Math.abs(x - y) <= 1e-9 * Math.max(1, Math.abs(x), Math.abs(y));
  return a.every((x, i) => x === b[i] || near(x, b[i]));
}

// Much of the library is made at its first use: that belongs to loading it.
same(parsed("(x+1)^2"), parsed("x^2+2x+1"));
parentPort.postMessage({ id: -1 });
