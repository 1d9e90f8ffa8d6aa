/** Returns the first item of a list that stands before it too; undefined if each is there once. */
export function firstDuplicate<T>(list: readonly T[]): T | undefined {
  const seen = new Set<T>();
  return list.find((item) => seen.size === seen.add(item).size);
}
