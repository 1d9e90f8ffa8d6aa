type Tuple<T, N extends number, Taken extends readonly T[] = readonly []> = Taken["length"] extends N
  ? Taken
  : Tuple<T, N, readonly [...Taken, T]>;

/** Checks that a list has this many elements, each of which may then be taken by its index. */
export function hasLength<T, N extends number>(list: readonly T[], length: N): list is Tuple<T, N> {
  return list.length === length;
}

/**
 * Returns a value that the code around it promises, such as the first of a list that is never empty.
 * @param what it is, in words
 * @throws Error if it is undefined: the promise was wrong
 */
export function present<T>(value: T | undefined, what: string): T {
  if (value !== undefined) return value;
  throw new Error(`${what} is missing, which is a mistake in this program`);
}
