/** An attempt to get out of the interpreter, to use it up, or to leave something behind in it. docs/tools.md has a table of them. */
export interface Attempt {
  readonly what: string;
  /** What happened, for the page. */
  readonly happened: string;
  readonly code: string;
  /** Matches what was printed, with the error behind it. */
  readonly result: RegExp;
  /** Run after it, from nothing: what it prints if the attempt left no trace. Without it `1+1`. */
  readonly after?: readonly [code: string, output: string];
}

/**
 * JavaScript objects are what an attacker wants, and Python's garbage collector hands them out, whatever is done to imports: many
 * attempts start from there. The module `js` and the Pyodide API, from inside:
 */
export const inside = `
import gc
finder = next(o for o in gc.get_objects() if type(o).__name__ == "JsFinder")
js, api = finder.jsproxies["js"], finder.jsproxies["pyodide_js"]
Object, Function = js.constructor, js.constructor.constructor
`;

/** What happened, in the words of the page. */
export const noModule = "no such module";
export const refused = "PermissionError";
export const refusedByCode = "JavaScript refuses code from strings";
export const stopped = "stopped after its time";
export const tooMuch = "stopped at the memory limit";
export const crashed = "the interpreter crashed and was replaced";
export const nothingLeft = "the next session finds nothing of it";
