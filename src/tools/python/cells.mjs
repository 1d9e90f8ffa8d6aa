/**
 * The Python half of the interpreter: it runs a cell as a notebook does, and takes a session back to where every session begins.
 * It ends in a tuple of two functions: `reset()`, and `run(code)`, which prints to file descriptors 1 and 2 and returns the
 * kind of what went wrong ("" | "error" | "interrupted" | "memory") with its traceback. Its own builtins are a copy, which no code reaches
 * by assigning to names.
 */
export const cells = String.raw`
import ast, bisect, builtins, collections, copy, dataclasses, datetime, decimal, fractions, functools, gc, heapq, io, itertools
import json, linecache, math, operator, os, posix, random, re, shutil, statistics, string, sys, time, traceback, types, typing, warnings

# What reaches out of the interpreter. This makes for readable errors; the walls stand in interpreter.mjs.
closed = ("js", "pyodide_js", "pyodide", "_pyodide", "_pyodide_core", "micropip", "ctypes", "_ctypes")
for name in [name for name in sys.modules if name.split(".")[0] in closed]:
    del sys.modules[name]

class Closed:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in closed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path[:] = [Closed, *(finder for finder in sys.meta_path if "yodide" not in str(getattr(type(finder), "__module__", "")) and "js" not in type(finder).__name__.lower())]

def refused(what):
    def refuse(*args, **kwargs):
        raise PermissionError(f"{what} is not possible here")
    return refuse

for module in (os, posix):
    for name in ("system", "popen", "fork", "execv", "execve", "posix_spawn", "kill", "_exit", "abort"):
        if hasattr(module, name):
            setattr(module, name, refused(f"os.{name}"))

# Its event loop is the JavaScript one.
import asyncio
asyncio.run = refused("asyncio.run")

home = "/home/pyodide"
kept_lists = [(at, list(at)) for at in (sys.path, sys.meta_path, sys.path_hooks, sys.argv, warnings.filters)]
recursion_limit = sys.getrecursionlimit()
environment = dict(os.environ)
del name, module
modules = {}
loaded = sys.modules
state = {"main": None, "cell": 0}

def reset():
    """A new namespace; modules, builtins, files, environment and random numbers as at the start."""
    for name in [name for name in loaded if name not in modules]:
        del loaded[name]
    for name, (module, saved) in modules.items():
        loaded[name] = module
        current = module.__dict__
        if len(current) != len(saved):
            for key in [key for key in current if key not in saved]:
                del current[key]
        current.update(saved)
    for at, saved in kept_lists:
        at[:] = saved
    if os.environ != environment:
        os.environ.clear()
        os.environ.update(environment)
    for folder in (home, "/tmp"):
        for entry in os.listdir(folder):
            path = os.path.join(folder, entry)
            shutil.rmtree(path, True) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    os.chdir(home)
    sys.setrecursionlimit(recursion_limit)
    sys.settrace(None)
    sys.setprofile(None)
    decimal.setcontext(decimal.DefaultContext.copy())
    random.seed(0)
    linecache.clearcache()
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    loaded["__main__"] = main
    state["main"] = main.__dict__
    state["cell"] = 0

def describe(error):
    """A traceback of the cells' own lines: those of the library say nothing that the message does not."""
    if isinstance(error, ModuleNotFoundError):
        return f"ModuleNotFoundError: No module named {error.name!r}. Only Python's standard library is here."
    summary = traceback.TracebackException.from_exception(error, compact=True, max_group_width=3)
    level = summary
    while level is not None:
        level.stack = traceback.StackSummary.from_list([frame for frame in level.stack if frame.filename.startswith("<cell")][-8:])
        level = level.__cause__ or level.__context__
    text = "".join(summary.format(chain=error.__cause__ is not None)).strip()
    return text if len(text) <= 4000 else f"{text[:2000]}\n…\n{text[-2000:]}"

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
        exec(compile(tree, file, "exec"), state["main"])
        if last is not None:
            value = eval(compile(ast.Expression(last.value), file, "eval"), state["main"])
            if value is not None:
                print(repr(value))
    except KeyboardInterrupt:
        kind = "interrupted"
    except MemoryError:
        kind = "memory"
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
    return kind, text

def remember():
    for name, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType) and name != "__main__":
            modules[name] = (module, dict(module.__dict__))

remember()
reset()
(reset, run)
`;
