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
  const collections = ["Tuple", "Pair", "Triple", "Sequence", "List", "Set", "Matrix", "Interval", "Open", "Delimiter"];
  const [whole, other] = [headOf(a), headOf(b)];
  if (collections.includes(whole) || collections.includes(other)) {
    if (whole !== other || a.ops.length !== b.ops.length) return false;
    return whole === "Set" ? sameSet(a.ops, b.ops) : all(a.ops.map((each, i) => same(each, b.ops[i])));
  }
  if (a.isEqual(b) === true) return true;
  const unknowns = [...new Set([...a.unknowns, ...b.unknowns])];
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

/** Compares values where each variable has another value in each of several points. */
function sameAtPoints(a, b, unknowns) {
  const verdicts = points.map((_, i) => {
    const values = Object.fromEntries(unknowns.map((name, j) => [name, points[(i + j) % points.length] * (1 + j)]));
    return close(numberOf(a.subs(values)), numberOf(b.subs(values)));
  });
  const decided = verdicts.filter((verdict) => verdict !== undefined);
  return decided.length === 0 ? undefined : decided.every(Boolean);
}

/** A number as its real and imaginary part; undefined if it is none. */
function numberOf(expression) {
  const value = expression.N();
  const real = value.re ?? Number.NaN;
  const imaginary = value.im ?? 0;
  return Number.isNaN(real) || Number.isNaN(imaginary) ? undefined : [real, imaginary];
}

/** Equal up to the rounding of double precision. */
function close(a, b) {
  if (a === undefined || b === undefined) return undefined;
  return a.every((x, i) => x === b[i] || Math.abs(x - b[i]) <= 1e-9 * Math.max(1, Math.abs(x), Math.abs(b[i])));
}

parentPort.postMessage({ id: -1 });
