/** Functions of the standard distributions, to about ten digits. */

/** Lanczos' approximation with g = 7 and nine terms (Numerical Recipes, §6.1; coefficients by Godfrey). */
const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** Returns ln Γ(x). @param x > 0 */
export function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const base = x + 6.5;
  const series = lanczos.reduce((sum, coefficient, i) => (i === 0 ? coefficient : sum + coefficient / (x - 1 + i)), 0);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(base) - base + Math.log(series);
}

/**
 * Returns the regularised incomplete beta function I_x(a, b), the distribution function of Beta(a, b), by its continued fraction
 * (Numerical Recipes, §6.4).
 */
export function betaCdf(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  // The fraction converges fast below the mean; beyond it the other tail is computed.
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(x, a, b)) / a : 1 - (front * betaFraction(1 - x, b, a)) / b;
}

/** Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  const away = (value: number) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m <= 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    for (const term of [even, odd]) {
      d = 1 / away(1 + term * d);
      c = away(1 + term / c);
      fraction *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return fraction;
}

/** Returns the x at which Beta(a, b) has the probability p below it. */
export function betaQuantile(p: number, a: number, b: number): number {
  return solve((x) => betaCdf(x, a, b), p, 0, 1);
}

/** Returns the distribution function of Student's t. @param df degrees of freedom, > 0 */
export function studentCdf(t: number, df: number): number {
  const tail = betaCdf(df / (df + t * t), df / 2, 0.5) / 2;
  return t > 0 ? 1 - tail : tail;
}

/** Returns the t at which Student's distribution has the probability p below it. @param p in (0, 1) */
export function studentQuantile(p: number, df: number): number {
  if (p < 0.5) return -studentQuantile(1 - p, df);
  let high = 1;
  while (studentCdf(high, df) < p) high *= 2;
  return solve((t) => studentCdf(t, df), p, 0, high);
}

/** Returns the z at which the standard normal distribution has the probability p below it (Acklam's approximation, |error| < 1.2e-9 · |z|). */
export function normalQuantile(p: number): number {
  if (p > 0.5) return -normalQuantile(1 - p);
  const polynomial = (coefficients: readonly number[], x: number) => coefficients.reduce((sum, c) => sum * x + c, 0);
  if (p < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(p));
    return (
      polynomial(
        [
          -7.784894002430293e-3, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
          2.938163982698783,
        ],
        q,
      ) / polynomial([7.784695709041462e-3, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1], q)
    );
  }
  const q = p - 0.5;
  return (
    (polynomial(
      [-39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239],
      q * q,
    ) *
      q) /
    polynomial([-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1], q * q)
  );
}

/** Returns where a rising function reaches a value, by bisection, at most down to the last bit. */
export function solve(of: (x: number) => number, value: number, low: number, high: number, steps = 200): number {
  let [below, above] = [low, high];
  for (let i = 0; i < steps; i++) {
    const middle = (below + above) / 2;
    if (middle === below || middle === above) break;
    if (of(middle) < value) below = middle;
    else above = middle;
  }
  return (below + above) / 2;
}
