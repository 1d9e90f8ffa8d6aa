import { deepCopy } from "../../python/copy.ts";
import { parseJson } from "../../python/json.ts";
import { add } from "../../python/numbers.ts";
import { ellipsis } from "../../python/objects.ts";
import { neverChanges } from "../../python/text.ts";
import type { Dict, Value } from "../../python/values.ts";
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
  /** File contents with what the long_context category adds, by the content without it: equal texts that are one are compared at once. */
  readonly contents: Map<string, string>;
}

export function freshShared(): Shared {
  return { tags: [], mentions: [], dicts: new Map(), contents: new Map() };
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

/** A file's content with what the long_context category adds. */
export function longContent({ contents }: Shared, content: Value): Value {
  if (typeof content !== "string") return add(content, longText("FILE_CONTENT_EXTENSION"), "+=");
  let long = contents.get(content);
  if (long === undefined) contents.set(content, (long = content + longText("FILE_CONTENT_EXTENSION")));
  return long;
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
