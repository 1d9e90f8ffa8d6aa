/**
 * The Python half: code that runs once, before the interpreter's snapshot is taken. It leaves `run(code)`, which runs a cell as a notebook does,
 * prints to file descriptors 1 and 2, and returns what went wrong ("" | "error" | "interrupted" | "memory"), a line's end, and its traceback.
 *
 * A cell can walk from its frame to these names and change them. It does so for its own session only.
 */
export const runner = String.raw`
import ast, bisect, builtins, collections, copy, dataclasses, datetime, decimal, fractions, functools, heapq, io, itertools, json, linecache
import math, operator, os, posix, random, re, shutil, socket, statistics, string, sys, time, traceback, types, typing, warnings

# What is not there says so in Python's own words.
for name in ("_ctypes", "ctypes", "_pyodide", "pyodide"):
    sys.modules[name] = None
def refused(what):
    def refuse(*args, **kwargs):
        raise PermissionError(f"{what} is not possible here")
    return refuse
for module in (os, posix):
    for name in ("system", "popen", "fork", "execv", "execve", "posix_spawn", "kill", "_exit", "abort"):
        if hasattr(module, name):
            setattr(module, name, refused(f"os.{name}"))

def describe(error):
    """A traceback of the cells' own lines: those of the library say nothing that the message does not."""
    if isinstance(error, ModuleNotFoundError):
        return f"ModuleNotFoundError: No module named {error.name!r}. Only Python's standard library is here."
    shorten(error)
    summary = traceback.TracebackException.from_exception(error, compact=True, max_group_width=3)
    level = summary
    while level is not None:
        level.stack = traceback.StackSummary.from_list([frame for frame in level.stack if frame.filename.startswith("<cell")][-8:])
        level = level.__cause__ or level.__context__
    text = "".join(summary.format(chain=error.__cause__ is not None)).strip()
    return text if len(text) <= 4000 else f"{text[:2000]}\n…\n{text[-2000:]}"

def shorten(error):
    """Of causes of causes, thousands of which would not fit on the stack, the first few."""
    for _ in range(5):
        error = error.__cause__ or error.__context__
        if error is None:
            return
    error.__cause__ = error.__context__ = None

def run(code):
    state["cell"] += 1
    file = f"<cell {state['cell']}>"
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    kind, text = "", ""
    try:
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
        tree = ast.parse(code, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file, "exec"), main.__dict__)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), file, "eval"), main.__dict__)
            if value is not None:
                print(repr(value))
    except KeyboardInterrupt:
        kind = "interrupted"
    except MemoryError as error:
        # One with words is the parser's, which gave up.
        kind, text = ("error", f"MemoryError: {error}") if error.args else ("memory", "")
    except SystemExit as end:
        if end.code not in (None, 0):
            kind, text = "error", f"SystemExit: {end.code}"
    except BaseException as error:
        try:
            kind, text = "error", describe(error)
        except KeyboardInterrupt:
            kind = "interrupted"
        except BaseException:
            kind, text = "error", type(error).__name__
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        pass
    return f"{kind}\n{text}".encode("utf-8", "backslashreplace").decode()

state = {"cell": 0}
main = types.ModuleType("__main__")
main.__dict__["__builtins__"] = builtins
sys.modules["__main__"] = main
random.seed(0)
sys.run = run
del module, name
`;
