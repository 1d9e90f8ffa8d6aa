import type { World } from "./world.ts";

/**
 * Returns the differences between one state and a later one, as sorted lines: two episodes did the same if their changes are equal.
 * Texts count without their case and final full stop. A thing that was changed and changed back is no change.
 */
export function changesBetween(before: World, after: World): string[] {
  const earlier = linesOf(before);
  const later = linesOf(after);
  return [...without(later, earlier), ...without(earlier, later).map((line) => `gone: ${line}`)].sort();
}

export function sameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, i) => line === b[i]);
}

function linesOf({ events, files, sent, payments, parcels }: World): string[] {
  return [
    ...events.map(({ id, day, time, room }) => `event ${id} ${day} ${time}${room === undefined ? "" : ` room ${room}`}`),
    ...files.map(({ id, folder, sharedWith }) => `file ${id} in ${folder ?? "no folder"} for ${[...sharedWith].sort()}`),
    ...sent.map(({ to, text }) => `sent ${to}: ${plain(text)}`),
    ...payments.map(({ to, amount }) => `paid ${to} ${amount}`),
    ...parcels.map(({ to, courier }) => `parcel to ${to} by ${courier}`),
  ];
}

/** Lines that are more often in `lines` than in `others`, as often as they are. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

function plain(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[.!]+$/, "");
}
