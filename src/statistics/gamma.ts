import type { Random } from "../core/random.ts";

/**
 * Draws from the gamma distribution of a whole shape ≥ 1 and scale 1. Small shapes are sums of exponentials; others use Marsaglia and Tsang's
 * method ("A simple method for generating gamma variables", 2000).
 */
export function gamma(shape: number, random: Random): number {
  if (shape <= 3) {
    let product = 1;
    for (let i = 0; i < shape; i++) product *= 1 - random.uniform();
    return -Math.log(product);
  }
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = random.normal();
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random.uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}
