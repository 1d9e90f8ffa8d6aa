/** Items by their key, in the order in which keys and items come first. Map.groupBy is younger than Node 20. */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const members = groups.get(keyOf(item));
    if (members === undefined) groups.set(keyOf(item), [item]);
    else members.push(item);
  }
  return groups;
}
