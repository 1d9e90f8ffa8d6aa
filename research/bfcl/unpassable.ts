/** Why no model can pass a task as the published checker judges it. The report to its authors: https://github.com/ShishirPatil/gorilla/issues/1367 */
export interface Unpassable {
  /** The text that the published answer posts, and that the checker compares as state: no tool returns it, and no message asks for it. */
  readonly wanted: string;
  /** The text that the tools give for what the user asks to post. */
  readonly given: string;
}

/** The user asks to post the sorted file. It has one line, so `sort` returns it unchanged. */
const sorted: Unpassable = {
  wanted: "Initial report content More unsorted data Unsorted data",
  given: "Initial report content Unsorted data More unsorted data",
};

/** The user asks to post the differences of two files, which `diff` returns as two lines. */
const compared: Unpassable = {
  wanted: "- Introduction to History. Ancient civilizations.+ Advanced History. Modern world events.",
  given: "- Introduction to History. Ancient civilizations.\\n+ Advanced History. Modern world events.",
};

/** Tasks that are left out of the second score, by id. A test holds every entry to the checker's verdicts. */
export const unpassable: ReadonlyMap<string, Unpassable> = new Map([
  ["multi_turn_base_4", sorted],
  ["multi_turn_miss_func_4", sorted],
  ["multi_turn_miss_param_4", sorted],
  ["multi_turn_long_context_4", sorted],
  ["multi_turn_base_18", compared],
  ["multi_turn_miss_func_18", compared],
  ["multi_turn_miss_param_18", compared],
]);
