/** Some rows of a matrix: from `start` up to, not including, `end`. */
export interface Piece {
  readonly start: number;
  readonly end: number;
}

/** Cuts a number of rows into as few pieces as possible, of nearly equal sizes. @param most rows of a piece */
export function piecesOf(total: number, most: number): readonly Piece[] {
  const count = Math.ceil(total / most);
  return Array.from({ length: count }, (_, i) => ({
    start: Math.floor((i * total) / count),
    end: Math.floor(((i + 1) * total) / count),
  }));
}

/** Copies the rows of a matrix that `ids` name, one after another. */
export function rowsOf(matrix: Float32Array, ids: Int32Array, into: Float32Array, width: number): Float32Array {
  ids.forEach((id, i) => {
    into.set(matrix.subarray(id * width, (id + 1) * width), i * width);
  });
  return into;
}

export function scale(values: Float32Array, factor: number): void {
  if (factor !== 1) for (let i = 0; i < values.length; i++) values[i] *= factor;
}

/** Adds rows to those of a matrix that `ids` name; ids may repeat. */
export function addRows(matrix: Float32Array, ids: Int32Array, rows: Float32Array, width: number): void {
  ids.forEach((id, i) => {
    for (let j = 0; j < width; j++) matrix[id * width + j] += rows[i * width + j];
  });
}
