import { EngineError } from "../../../src/core/errors.ts";
import type { SessionOptions } from "../machine/device.ts";
import { Graph } from "./graph.ts";
import { Session } from "./session.ts";

/** Enough for every kernel's inner loop, and odd. */
const [rows, inner, columns] = [3, 259, 37];

let exact: Promise<number> | undefined;

/**
 * Computes the largest products that 8 bits can make, and compares them with what they are. Processors without products of bytes into 32 bits (AVX2
 * without VNNI) add two of them in 16 bits, where they are cut off, and the log-probs of all tokens would be wrong in silence.
 * @throws EngineError if they are cut off here, or if another provider than the CPU is asked for
 */
export async function requireExactInt8(options: SessionOptions): Promise<void> {
  if ((options.provider ?? "cpu") !== "cpu") {
    throw new EngineError("engine.sampling.weights", "int8", {
      expected: `"float32" on ${options.provider}`,
      hint: "Products of 8 bits are computed on the CPU alone.",
    });
  }
  exact ??= measureInt8Error(options);
  checkInt8Error(await exact);
}

/** @param error relative, of the worst product */
export function checkInt8Error(error: number): void {
  if (error < 1e-5) return;
  throw new EngineError("products of 8-bit integers on this processor", `wrong by ${(100 * error).toFixed(0)} %`, {
    expected: "exact ones",
    hint: 'It adds products of bytes in 16 bits, where large ones are cut off (no VNNI). Set engine.sampling.weights and engine.lora.base to "float32".',
  });
}

/** @returns the relative error of the worst product of rows and columns at their bounds */
export async function measureInt8Error(options: SessionOptions): Promise<number> {
  const g = new Graph();
  const product = g.apply(
    "int8Product",
    [g.input("x", [rows, inner]), g.input("w", [inner, columns], "int8"), g.input("s", [columns])],
    {},
  );
  g.output("y", product[0]);
  const session = await Session.open(g, { threads: 1, runtime: options.runtime });
  try {
    let worst = 0;
    for (const [a, b] of [
      [1, 127],
      [1, -127],
      [-1, -127],
    ]) {
      const { y } = await session.run(
        {
          x: { data: new Float32Array(rows * inner).fill(a), shape: [rows, inner] },
          w: { data: new Int8Array(inner * columns).fill(b), shape: [inner, columns] },
          s: { data: new Float32Array(columns).fill(1), shape: [columns] },
        },
        ["y"],
      );
      const expected = a * b * inner;
      for (const value of y) worst = Math.max(worst, Math.abs(value - expected) / Math.abs(expected));
    }
    return worst;
  } finally {
    await session.close();
  }
}
