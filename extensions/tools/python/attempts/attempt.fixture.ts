/** An attempt to get out of the interpreter, to use it up, or to leave something behind in it. */
export interface Attempt {
  readonly what: string;
  readonly code: string;
  /** Matches what was printed, with the error behind it, where that matters. */
  readonly result?: RegExp;
  /** Run after it, from nothing: what it prints if the attempt left no trace. Without it `1+1`. */
  readonly after?: readonly [code: string, output: string];
}

/**
 * JavaScript objects are what an attacker wants. Elsewhere Pyodide hands them out, so that these attempts got out once. All known ways to one are
 * tried: what the garbage collector finds, the import hooks, and the module that links both languages.
 */
export const inside = `
import gc, sys, _imp, importlib.machinery
found = [v for o in gc.get_objects() if type(o).__name__ == "JsFinder" for v in o.jsproxies.values()]
found += [o for o in gc.get_objects() if "JsProxy" in type(o).__name__]
for name in ("js", "pyodide_js", "_pyodide_core"):
    sys.modules.pop(name, None)
    try: found.append(_imp.create_builtin(importlib.machinery.ModuleSpec(name, None)))
    except BaseException: pass
js, api = (found + [None, None])[:2]
Object, Function = js and js.constructor, js and js.constructor.constructor
`;
