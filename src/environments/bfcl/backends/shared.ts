import { deepCopy } from "../python/copy.ts";
import { parseJson } from "../python/json.ts";
import { ellipsis } from "../python/objects.ts";
import { neverChanges } from "../python/text.ts";
import type { Dict, Value } from "../python/values.ts";
import { longContextJson } from "./long-context-data.ts";

/**
 * The objects that all instances of one evaluation share, the model's and the ground truth's. In the original they are shared by all of a
 * process, so that one task's changes reach the next; here every evaluation begins with fresh ones.
 */
export interface Shared {
  /** The lists that tweets without tags and mentions have in common. */
  readonly tags: Value[];
  readonly mentions: Value[];
  /** Dicts of the long_context category that were asked for: copies, which the instances may change. */
  readonly dicts: Map<string, Dict>;
}

export function freshShared(): Shared {
  return { tags: [], mentions: [], dicts: new Map() };
}

let parsed: Dict | undefined;

function data(name: string): Value {
  if (parsed === undefined) {
    parsed = parseJson(longContextJson) as Dict;
    const watchList = parsed.get("WATCH_LIST_EXTENSION") as Value[];
    // The original list ends in a literal `...`.
    watchList[watchList.length - 1] = ellipsis;
  }
  return parsed.get(name) ?? null;
}

/** A text that the long_context category adds. */
export function longText(name: string): string {
  return data(name) as string;
}

/** A list that the long_context category adds, which nothing changes. */
export function longList(name: string): Value[] {
  const list = data(name) as Value[];
  neverChanges(list);
  return list;
}

/** A dict that the long_context category adds, whose changes all instances of the evaluation see. */
export function longDict({ dicts }: Shared, name: string): Dict {
  let dict = dicts.get(name);
  if (dict === undefined) dicts.set(name, (dict = deepCopy(data(name)) as Dict));
  return dict;
}
