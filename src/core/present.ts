/**
 * Returns a value that the code around it promises, such as the first of a list that is never empty.
 * @param what it is, in words
 * @throws Error if it is undefined: the promise was wrong
 */
export function present<T>(value: T | undefined, what: string): T {
  if (value !== undefined) return value;
  throw new Error(`${what} is missing, which is a mistake in this program`);
}
