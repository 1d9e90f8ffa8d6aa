/**
 * The Python half of the interpreter, in two programs.
 *
 * `beginning` runs once: it closes what reaches out, and remembers in `pristine` how everything was. `runner` runs anew for every session, in a copy of
 * the beginning's names: it defines `reset(pristine)`, which takes the interpreter back to there, and `run(code)`, which runs a cell as a notebook does,
 * prints to file descriptors 1 and 2 and returns the kind of what went wrong ("" | "error" | "interrupted" | "memory") with its traceback.
 *
 * A cell can walk from its frame to the runner's names and change them: it does so for its own session only. What was remembered is not among them.
 */
export const beginning = `
import ast, atexit, bisect, builtins, collections, copy, dataclasses, datetime, decimal, fractions, functools, gc, heapq, io, itertools
import json, linecache, math, operator, os, posix, random, re, shutil, signal, socket, stat, statistics, string, sys, time, traceback, types, typing, warnings

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
    for name in ("system", "popen", "fork", "execv", "execve", "posix_spawn", "kill", "_exit", "abort", "getuid", "geteuid", "getgid", "getegid"):
        if hasattr(module, name):
            setattr(module, name, refused(f"os.{name}"))
for name in ("connect", "connect_ex", "bind", "listen", "sendto"):
    setattr(socket.socket, name, refused(f"socket.{name}"))
# Such a hook cannot be taken away again.
sys.addaudithook = refused("sys.addaudithook")

# Its event loop is the JavaScript one.
import asyncio
asyncio.run = refused("asyncio.run")

# Where the interpreter's program lies is nobody's business.
os.environ.pop("_", None)
home = "/home/pyodide"

def files():
    """Every file there is, with what tells that a regular one was not touched: a change's time cannot be set."""
    found = {}
    folders = ["/"]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode) and entry.path != "/proc":
                    folders.append(entry.path)
                regular = stat.S_ISREG(status.st_mode)
                found[entry.path] = (status.st_mode, *((status.st_size, status.st_mtime_ns, status.st_ctime_ns) if regular else ()))
    return found

context = decimal.DefaultContext
pristine = {
    "modules": {
        name: (module, module.__dict__, dict(module.__dict__))
        for name, module in list(sys.modules.items())
        if isinstance(module, types.ModuleType) and name != "__main__"
    },
    "lists": [(at, list(at)) for at in (sys.path, sys.meta_path, sys.path_hooks, sys.argv, warnings.filters, gc.callbacks)],
    "environment": dict(os.environ),
    "recursion": sys.getrecursionlimit(),
    "digits": sys.get_int_max_str_digits(),
    "decimal": {name: getattr(context, name) for name in ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")},
    "files": files(),
}
# Of classes that are written in Python, which can be changed.
pristine["classes"] = [
    (kind, dict(kind.__dict__))
    for kind in {value for _, _, saved in pristine["modules"].values() for value in saved.values() if isinstance(value, type) and value.__flags__ & (1 << 9)}
]
builtin_names = dict(builtins.__dict__)
del name, module
`;

export const runner = String.raw`
def reset(pristine):
    """A new namespace; modules and their classes, builtins, files, environment, random numbers and settings as at the start."""
    sys.settrace(None)
    sys.setprofile(None)
    modules = pristine["modules"]
    loaded = modules["sys"][2]["modules"]
    for name in [name for name in loaded if name not in modules]:
        del loaded[name]
    for name, (module, names, saved) in modules.items():
        loaded[name] = module
        if len(names) != len(saved):
            for key in [key for key in names if key not in saved]:
                del names[key]
        names.update(saved)
    for kind, saved in pristine["classes"]:
        if kind.__dict__ != saved:
            for key in [key for key in kind.__dict__ if key not in saved]:
                type.__delattr__(kind, key)
            for key, value in saved.items():
                if kind.__dict__.get(key) is not value:
                    type.__setattr__(kind, key, value)
    for at, saved in pristine["lists"]:
        at[:] = saved
    if os.environ != pristine["environment"]:
        os.environ.clear()
        os.environ.update(pristine["environment"])
    os.chdir("/")
    there = files()
    if len(there) != len(pristine["files"]):
        for path in sorted((path for path in there if path not in pristine["files"]), reverse=True):
            (os.rmdir if stat.S_ISDIR(there.pop(path)[0]) else os.unlink)(path)
    if there != pristine["files"]:
        raise RuntimeError("files of the interpreter were changed")
    os.chdir(home)
    sys.setrecursionlimit(pristine["recursion"])
    sys.set_int_max_str_digits(pristine["digits"])
    for name, value in pristine["decimal"].items():
        setattr(context, name, value)
    decimal.setcontext(context.copy())
    random.seed(0)
    linecache.clearcache()
    atexit._clear()
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    loaded["__main__"] = main
    state["main"] = main.__dict__
    state["cell"] = 0

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
        exec(compile(tree, file, "exec"), state["main"])
        if last is not None:
            value = eval(compile(ast.Expression(last.value), file, "eval"), state["main"])
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
    return kind, text

state = {"main": None, "cell": 0}
`;
