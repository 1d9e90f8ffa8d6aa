import type { Arrays } from "../model/arrays.ts";

/** The names and lengths of arrays that stand one behind another. */
export type Layout = readonly (readonly [name: string, length: number])[];

export function layoutOf(arrays: Arrays): Layout {
  return [...arrays].map(([name, { length }]) => [name, length]);
}

export function bytesOf(layout: Layout): number {
  return layout.reduce((sum, [, length]) => sum + length * Float32Array.BYTES_PER_ELEMENT, 0);
}

/** The arrays of a layout in a buffer, without a copy. */
export function arraysIn(buffer: ArrayBuffer | SharedArrayBuffer, layout: Layout): Map<string, Float32Array> {
  let offset = 0;
  return new Map(
    layout.map(([name, length]) => {
      const array = new Float32Array(buffer, offset, length);
      offset += array.byteLength;
      return [name, array] as const;
    }),
  );
}
