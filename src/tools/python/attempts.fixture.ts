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
 * JavaScript objects are what an attacker wants, and Python's garbage collector hands them out, whatever is done to imports: so many
 * attempts start from there. The module `js` and the Pyodide API, from inside:
 */
const inside = `
import gc
finder = next(o for o in gc.get_objects() if type(o).__name__ == "JsFinder")
js, api = finder.jsproxies["js"], finder.jsproxies["pyodide_js"]
Object, Function = js.constructor, js.constructor.constructor
`;
/** The names of the program that runs cells, which is a frame away. */
const runner = "import sys\nnames = sys._getframe(1).f_globals\n";

const noModule = "no such module";
const refused = "PermissionError";
const refusedByCode = "JavaScript refuses code from strings";
const stopped = "stopped after its time";
const tooMuch = "stopped at the memory limit";
const crashed = "the interpreter crashed and was replaced";
const nothingLeft = "the next session finds nothing of it";

/** SECRET, WRITTEN, FOLDER, ADDRESS and PORT stand for a file with a secret, one to be written, their folder, a server of this machine. */
export const escapes: readonly Attempt[] = [
  { what: "`import js`", happened: noModule, code: "import js\njs.process", result: /No module named 'js'/ },
  { what: "`from js import fetch`", happened: noModule, code: "from js import fetch", result: /No module named 'js'/ },
  { what: "`__import__('js')`", happened: noModule, code: "__import__('js')", result: /No module named 'js'/ },
  {
    what: "`importlib.import_module('js')`",
    happened: noModule,
    code: "import importlib\nimportlib.import_module('js')",
    result: /No module named 'js'/,
  },
  {
    what: "`import js` without the finders that refuse it",
    happened: noModule,
    code: "import sys, importlib\nsys.meta_path.clear()\nimportlib.invalidate_caches()\nimport js",
    result: /No module named 'js'/,
    after: ["import csv\ncsv.__name__", "'csv'\n"],
  },
  { what: "`import pyodide_js`", happened: noModule, code: "import pyodide_js", result: /No module named 'pyodide_js'/ },
  { what: "`import _pyodide_core`", happened: noModule, code: "import _pyodide_core", result: /No module named '_pyodide_core'/ },
  {
    what: "`pyodide.code.run_js`",
    happened: noModule,
    code: "from pyodide.code import run_js\nrun_js('process')",
    result: /No module named 'pyodide/,
  },
  { what: "`pyodide.http`", happened: noModule, code: "import pyodide.http", result: /No module named 'pyodide/ },
  { what: "`import micropip`", happened: noModule, code: "import micropip", result: /No module named 'micropip'/ },
  { what: "`import ctypes`", happened: noModule, code: "import ctypes", result: /No module named 'ctypes'/ },
  {
    what: "`ctypes` from its source file",
    happened: noModule,
    code:
      "import importlib.machinery as m, importlib.util as u\nspec = m.PathFinder.find_spec('ctypes')\nmodule = u.module_from_spec(spec)\n" +
      "spec.loader.exec_module(module)\nmodule.CDLL(None).system(b'touch WRITTEN')",
    result: /No module named '_ctypes'/,
  },
  { what: "a file by its path", happened: "no such file", code: "open('SECRET').read()", result: /FileNotFoundError/ },
  { what: "`/etc/passwd`", happened: "no such file", code: "open('/etc/passwd').read()", result: /FileNotFoundError/ },
  {
    what: "`/proc/self/environ`",
    happened: "no such file",
    code: "open('/proc/self/environ').read()",
    result: /FileNotFoundError/,
  },
  { what: "a file to write", happened: "no such folder", code: "open('WRITTEN', 'w').write('x')", result: /FileNotFoundError/ },
  {
    what: "file descriptors that the process may have open",
    happened: "Python has only its own three",
    code: "import os\nfound = []\nfor i in range(3, 100):\n  try: found.append(os.fstat(i))\n  except OSError: pass\nfound",
    result: /^\[\]$/m,
  },
  {
    what: "`os.system`",
    happened: refused,
    code: "import os\nos.system('touch WRITTEN')",
    result: /PermissionError: os.system is not possible here/,
  },
  {
    what: "`os.system` in a pickle",
    happened: refused,
    code: `import pickle\npickle.loads(b"cposix\\nsystem\\n(S'touch WRITTEN'\\ntR.")`,
    result: /PermissionError: os.system is not possible here/,
  },
  {
    what: "the original of `os.system`",
    happened: "it starts nothing",
    code:
      "import importlib.machinery as m\nspec = m.BuiltinImporter.find_spec('posix')\nposix = m.BuiltinImporter.create_module(spec)\n" +
      "m.BuiltinImporter.exec_module(posix)\nposix.system('touch WRITTEN')",
    result: /^/,
  },
  {
    what: "`os.popen`, `os.execv`, `os.fork`, `os.posix_spawn`",
    happened: refused,
    code:
      "import os\nfor name in ('popen', 'execv', 'fork', 'posix_spawn'):\n  try: getattr(os, name)('/bin/sh', ['sh'])\n" +
      "  except (PermissionError, AttributeError) as e: print(type(e).__name__)",
    result: /^(PermissionError\n|AttributeError\n){4}$/,
  },
  {
    what: "`subprocess`",
    happened: "OSError",
    code: "import subprocess\nsubprocess.run(['touch', 'WRITTEN'])",
    result: /OSError/,
  },
  { what: "`os.kill` of the parent", happened: refused, code: "import os\nos.kill(os.getppid(), 9)", result: /PermissionError/ },
  { what: "`os._exit`", happened: refused, code: "import os\nos._exit(3)", result: /PermissionError/ },
  {
    what: "a signal to itself",
    happened: crashed,
    code: "import signal\nsignal.raise_signal(signal.SIGTERM)",
    result: /crashed/,
  },
  {
    what: "threads",
    happened: "RuntimeError",
    code: "import threading\nfor _ in range(10**6): threading.Thread(target=print).start()",
    result: /can't start new thread/,
  },
  {
    what: "`multiprocessing`",
    happened: noModule,
    code: "import multiprocessing\nmultiprocessing.Process(target=print).start()",
    result: /No module named '_multiprocessing'/,
  },
  {
    what: "a socket",
    happened: refused,
    code: "import socket\nsocket.create_connection(('127.0.0.1', PORT), timeout=2).send(b'GET / HTTP/1.0\\r\\n\\r\\n')",
    result: /PermissionError: socket.connect/,
  },
  {
    what: "a server",
    happened: refused,
    code: "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()",
    result: /PermissionError: socket.bind/,
  },
  {
    what: "the socket type below `socket.socket`",
    happened: `an error, or ${crashed}`,
    code: "import _socket\n_socket.socket().connect(('127.0.0.1', PORT))",
    result: /Error|crashed/,
  },
  {
    what: "`urllib`",
    happened: "an error",
    code: "import urllib.request\nurllib.request.urlopen('http://ADDRESS/urllib').read()",
    result: /Error/,
  },
  {
    what: "`http.client`",
    happened: refused,
    code: "import http.client\nc = http.client.HTTPConnection('ADDRESS', timeout=2)\nc.request('GET', '/')",
    result: /PermissionError/,
  },
  {
    what: "`webbrowser`",
    happened: noModule,
    code: "import webbrowser\nwebbrowser.open('http://ADDRESS/')",
    result: /No module/,
  },
  {
    what: "environment variables",
    happened: "Pyodide's own few",
    code: "import os\nsorted(os.environ)",
    result: /^\['HOME', 'LANG', 'LD_LIBRARY_PATH', 'LOGNAME', 'PATH', 'PWD', 'PYTHONHASHSEED', 'PYTHONINSPECT', 'TZ', 'USER'\]$/m,
  },
  {
    what: "the Pyodide API by the garbage collector",
    happened: "it is there",
    code: `${inside}\n"runPython" in dir(api)`,
    result: /^True$/m,
  },
  {
    what: "`process`, `fetch`, `require` of the global object",
    happened: "they are gone",
    code: `${inside}\n[n for n in ("process", "fetch", "require") if hasattr(js, n)]`,
    result: /^\[\]$/m,
  },
  {
    what: "JavaScript from a string",
    happened: refusedByCode,
    code: `${inside}\nFunction("return process")()`,
    result: /Code generation from strings disallowed/,
  },
  {
    what: "asynchronous JavaScript from a string",
    happened: refusedByCode,
    code: `${inside}\napi.runPythonAsync.constructor("return 1")()`,
    result: /Code generation from strings disallowed/,
  },
  {
    what: "Pyodide imported again",
    happened: refusedByCode,
    code: `${inside}\nimport sys\nsys.meta_path.pop(0)\nimport _pyodide_core\n_pyodide_core.to_js([]).constructor.constructor("return process")()`,
    result: /Code generation from strings disallowed/,
  },
  {
    what: "the host's folders by NODEFS",
    happened: "Node's permissions refuse",
    code:
      `${inside}\noptions = Object()\noptions.root = "FOLDER"\napi.FS.mkdir("/host")\n` +
      `api.FS.mount(api.FS.filesystems.NODEFS, options, "/host")\nimport os\nprint(os.listdir("/host"))\nopen("/host/secret.txt").read()`,
    result: /Error|crashed/,
  },
  {
    what: "the host's folders by `mountNodeFS`",
    happened: "Node's permissions refuse",
    code: `${inside}\napi.mountNodeFS("/host2", "FOLDER")\nimport os\nprint(os.listdir("/host2"))`,
    result: /Error|crashed/,
  },
  {
    what: "writing by `mountNodeFS`",
    happened: "Node's permissions refuse",
    code: `${inside}\napi.mountNodeFS("/host3", "FOLDER")\nopen("/host3/written.txt", "w").write("x")`,
    result: /Error|crashed/,
  },
  {
    what: "sockets of Node",
    happened: "they refuse",
    code: `${inside}\napi.useNodeSockFS()\nimport socket\nsocket.create_connection(("127.0.0.1", PORT), timeout=2).send(b"GET /sock HTTP/1.0\\r\\n\\r\\n")`,
    result: /Error|crashed/,
  },
  {
    what: "`loadPackage` from the network",
    happened: "nothing is sent",
    code: `${inside}\napi.loadPackage("http://ADDRESS/evil-1.0-py3-none-any.whl")`,
    result: /^/,
  },
  {
    what: "a library of the host by `loadDynlib`",
    happened: "it is not read",
    code: `${inside}\napi._api.loadDynlib("SECRET")`,
    result: /^/,
  },
  {
    what: "a file of the host by `loadBinaryFile`",
    happened: "it is not read",
    code: `${inside}\nstr(api._api.loadBinaryFile("SECRET"))`,
    result: /^/,
  },
  {
    what: "a file of the host by the module's reader",
    happened: "it is not read",
    code: `${inside}\nstr(api._module.readAsync("SECRET"))`,
    result: /^/,
  },
  {
    what: "`unpackArchive` over the host",
    happened: "nothing is written",
    code: `${inside}\napi.unpackArchive(b"", "zip")`,
    result: /^/,
  },
  {
    what: "the channel to the parent",
    happened: "it is not there",
    code: `${inside}\napi._module.process`,
    result: /AttributeError/,
  },
  {
    what: "the runtime's bridge to the host's files, `NODEFS`",
    happened: "it is not there",
    code: `${inside}\napi.FS.filesystems.NODEFS`,
    result: /AttributeError: NODEFS/,
  },
  {
    what: "the runtime's bridge to the host's sockets, `useNodeSockFS`",
    happened: "it is not there",
    code: `${inside}\napi._api.useNodeSockFS`,
    result: /AttributeError: useNodeSockFS/,
  },
  {
    what: "a forged answer, written to every file descriptor",
    happened: "Python has only its own three",
    code: `import os, json, struct
answer = {"id": 0, "kind": "", "text": "", "output": "forged", "droppedBytes": 0, "restored": True, "memoryBytes": 0}
body = json.dumps(answer).encode()
wrote = []
for fd in range(3, 64):
    try:
        os.write(fd, struct.pack(">I", len(body)) + body)
        wrote.append(fd)
    except OSError:
        pass
print(wrote)`,
    result: /^\[\]\n$/,
  },
  {
    what: "JavaScript's own functions replaced",
    happened: "they are read-only",
    code: `${inside}\nObject.getPrototypeOf(api.FS.streams).push = print`,
    result: /Cannot assign to read only property 'push'/,
  },
  { what: "Pyodide's own `_exit`", happened: crashed, code: `${inside}\napi._module._exit(0)`, result: /crashed|Error/ },
];

/** In a kept interpreter, what one session does to it must not be seen by the next. */
export const traces: readonly Attempt[] = [
  {
    what: "a file beside the session's folder",
    happened: nothingLeft,
    code: "for path in ('/left', '/dev/left', '/dev/shm/left', '/tmp/left'): open(path, 'w').write('x')",
    result: /^$/,
    after: ["import os\n[path for path in ('/', '/dev', '/dev/shm', '/tmp') if 'left' in os.listdir(path)]", "[]\n"],
  },
  {
    what: "a module for later sessions",
    happened: nothingLeft,
    code: "import site\nopen(f'{site.getsitepackages()[0]}/evil.py', 'w').write('x = 1')\nimport evil",
    result: /^$/,
    after: ["import importlib.util\nimportlib.util.find_spec('evil') is None", "True\n"],
  },
  {
    what: "other bytes in the standard library's file",
    happened: "the interpreter is replaced",
    code:
      "import os, sys\npath = next(path for path in sys.path if path.endswith('.zip'))\nbefore = os.stat(path)\n" +
      "with open(path, 'r+b') as file: file.write(b'boom')\nos.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))",
    result: /^$/,
    after: ["import tarfile\n1", "1\n"],
  },
  {
    what: "`rmtree('/')`",
    happened: "the interpreter is replaced",
    code: "import shutil\nshutil.rmtree('/', ignore_errors=True)",
    result: /^$/,
    after: ["import tarfile\nopen('x', 'w').write('abc')", "3\n"],
  },
  {
    what: "standard output turned into a file",
    happened: nothingLeft,
    code: "import os\nfd = os.open('/tmp/x', os.O_CREAT | os.O_WRONLY)\nos.dup2(fd, 1)\nos.dup2(fd, 2)\nprint('gone')",
    result: /^$/,
  },
  { what: "standard output closed", happened: nothingLeft, code: "import os\nos.close(1)\nos.close(2)", result: /^$/ },
  {
    what: "`print`, `len`, `__import__` replaced",
    happened: nothingLeft,
    code: "import builtins\nbuiltins.print = builtins.len = builtins.__import__ = builtins.__build_class__ = None",
    result: /^$/,
    after: ["class A: pass\nimport json\nprint(len('ab'))", "2\n"],
  },
  {
    what: "the program that runs cells, changed by its frame",
    happened: nothingLeft,
    code: `${runner}names['compile'] = lambda *args: __import__('builtins').compile('"poisoned"', 'x', 'eval')\nnames['__builtins__']['repr'] = None`,
    result: /^$/,
    after: ["1+1", "2\n"],
  },
  {
    what: "a note in the names of that program",
    happened: nothingLeft,
    code: `${runner}names['note'] = names['state']['note'] = 'a'`,
    result: /^$/,
    after: [`${runner}'note' in names or 'note' in names['state']`, "False\n"],
  },
  {
    what: "methods of the library's classes replaced",
    happened: nothingLeft,
    code: "import fractions, collections\nfractions.Fraction.__add__ = None\nfractions.Fraction.evil = 1\ndel collections.Counter.most_common",
    result: /^$/,
    after: [
      "from fractions import Fraction as F\nfrom collections import Counter\nF(1, 2) + F(1, 3), hasattr(F, 'evil'), Counter('aab').most_common(1)",
      "(Fraction(5, 6), False, [('a', 2)])\n",
    ],
  },
  {
    what: "`sys.modules.clear()`",
    happened: nothingLeft,
    code: "import sys\nsys.modules.clear()",
    result: /^/,
    after: ["import json, re\njson.dumps(1)", "'1'\n"],
  },
  {
    what: "a trace function that never returns",
    happened: nothingLeft,
    code: "import sys\ndef spin(*args):\n  while True: pass\nsys.setprofile(None)\nsys.settrace(lambda *args: None)",
    result: /^/,
    after: ["import sys\nprint(sys.gettrace())", "None\n"],
  },
  {
    what: "a callback of the garbage collector",
    happened: nothingLeft,
    code: "import gc\ngc.callbacks.append(lambda *args: print('seen'))\ngc.disable()",
    result: /^$/,
    after: ["import gc\nx = gc.collect()\ngc.isenabled()", "True\n"],
  },
  {
    what: "an audit hook",
    happened: refused,
    code: "import sys\nsys.addaudithook(print)",
    result: /PermissionError/,
  },
  {
    what: "interrupts ignored",
    happened: nothingLeft,
    code: "import signal\nx = signal.signal(signal.SIGINT, signal.SIG_IGN)",
    result: /^$/,
    after: ["import signal\nsignal.getsignal(signal.SIGINT) is signal.default_int_handler", "True\n"],
  },
  {
    what: "`atexit`",
    happened: nothingLeft,
    code: "import atexit\nx = atexit.register(print, 'seen')",
    result: /^$/,
    after: ["import atexit\natexit._ncallbacks()", "0\n"],
  },
  {
    what: "the precision of decimal numbers, the length of printed integers",
    happened: nothingLeft,
    code: "import decimal, sys\ndecimal.DefaultContext.prec = 2\ndecimal.getcontext().prec = 3\nsys.set_int_max_str_digits(0)",
    result: /^$/,
    after: ["import decimal, sys\nlen(str(decimal.Decimal(1) / 3)), sys.get_int_max_str_digits()", "(30, 4300)\n"],
  },
  {
    what: "a task that outlives its call",
    happened: "it is interrupted, or the interpreter is replaced",
    code: "import asyncio\ndef spin():\n  while True: pass\nasyncio.get_event_loop().call_soon(spin)\n1",
    result: /^1$/m,
  },
  {
    what: "a print that comes later",
    happened: nothingLeft,
    code: "import asyncio\nasyncio.get_event_loop().call_later(0, print, 'seen')\n1",
    result: /^1$/m,
    after: ["import time\ntime.sleep(0.2)\n1+1", "2\n"],
  },
  {
    what: "`Object.prototype` changed",
    happened: "answers are no different",
    code: `${inside}\nObject.prototype.kind = Object.prototype.id = "error"\nObject.prototype.output = "poisoned"\n1`,
    result: /^1$/m,
  },
  {
    what: "`toJSON` on `Object.prototype`",
    happened: crashed,
    code: `${inside}\nObject.prototype.toJSON = Object\n1`,
    result: /^/,
  },
  {
    what: "Pyodide's memory overwritten",
    happened: crashed,
    code: `${inside}\napi._module.HEAPU8.fill(255)`,
    result: /crashed/,
  },
];

/** Against limits of 1.5 s and 128 MB. */
export const exhaustion: readonly Attempt[] = [
  {
    what: "2 GB in JavaScript's arrays",
    happened: "the operating system refuses memory",
    code: `${inside}\nU = api._module.HEAPU8.constructor\nkept = []\nfor _ in range(40):\n    kept.append(U.new(50_000_000))\n    kept[-1].fill(1)\nprint("filled")`,
    result: /allocation failed|crashed|more than 128 MB|stopped after/,
  },
  { what: "`while True: pass`", happened: stopped, code: "while True: pass", result: /^Error: stopped after 1.5 s\.$/ },
  {
    what: "a loop that catches every exception",
    happened: stopped,
    code: "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in `finally`, entered again and again",
    happened: stopped,
    code: "def f():\n  try:\n    while True: pass\n  finally:\n    f()\nf()",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in `__repr__`",
    happened: stopped,
    code: "class A:\n  def __repr__(self):\n    while True: pass\nA()",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in an exception's `__str__`",
    happened: stopped,
    code: "class E(Exception):\n  def __str__(self):\n    while True: pass\nraise E",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in `__del__`",
    happened: stopped,
    code: "class A:\n  def __del__(self):\n    while True: pass\na = A()\ndel a",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "`sum(iter(int, 1))`, a loop in C",
    happened: stopped,
    code: "sum(iter(int, 1))",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in C that never looks up",
    happened: stopped,
    code: "from itertools import repeat\nfrom collections import deque\ndeque(repeat(1), maxlen=0)",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop with interrupts ignored",
    happened: stopped,
    code: "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop with Pyodide's interrupts switched off",
    happened: stopped,
    code: `${inside}\napi.setInterruptBuffer(None)\nwhile True: pass`,
    result: /^Error: stopped after 1.5 s\.$/,
  },
  { what: "`10 ** 10 ** 9`", happened: stopped, code: "10 ** 10 ** 9", result: /^Error: stopped after 1.5 s\.$/ },
  {
    what: "`math.factorial(10**7)`",
    happened: stopped,
    code: "import math\nmath.factorial(10**7)",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a regular expression",
    happened: stopped,
    code: "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "`time.sleep(100)`",
    happened: stopped,
    code: "import time\ntime.sleep(100)",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "`raise KeyboardInterrupt`",
    happened: "an error like others",
    code: "raise KeyboardInterrupt",
    result: /^KeyboardInterrupt$/,
  },
  { what: "`sys.exit(5)`", happened: "an error like others", code: "import sys\nsys.exit(5)", result: /^SystemExit: 5$/ },
  { what: "`'a' * 10**9`", happened: tooMuch, code: "x = 'a' * 10**9", result: /^Error: more than 128 MB of memory\.$/ },
  { what: "`'a' * 10**10`", happened: "OverflowError", code: "x = 'a' * 10**10", result: /OverflowError/ },
  { what: "`1 << 10**10`", happened: tooMuch, code: "1 << 10**10", result: /^Error: more than 128 MB of memory\.$/ },
  {
    what: "a list that doubles",
    happened: tooMuch,
    code: "x = [0]\nwhile True: x += x",
    result: /^Error: more than 128 MB of memory\.$/,
  },
  {
    what: "`list(range(10**9))`",
    happened: tooMuch,
    code: "list(range(10**9))",
    result: /^Error: (more than 128 MB of memory|stopped after 1.5 s)\.$/,
  },
  {
    what: "files of 10 MB, one after the other",
    happened: tooMuch,
    code: "for i in range(10**6):\n  with open(f'/tmp/{i}', 'wb') as file: x = file.write(bytes(10**7))",
    result: /^Error: (more than 128 MB of memory|stopped after 1.5 s)\.$|OSError/,
  },
  {
    what: "a number that squares itself",
    happened: stopped,
    code: "x = 7\nwhile True: x = x * x",
    result: /^Error: (more than 128 MB of memory|stopped after 1.5 s)\.$/,
  },
  {
    what: "memory taken again after every MemoryError",
    happened: stopped,
    code: "x = []\nwhile True:\n  try:\n    while True: x.append(bytearray(10**6))\n  except MemoryError: pass",
    result: /^Error: (more than 128 MB of memory|stopped after 1.5 s)\.$/,
  },
  {
    what: "copies of Python's memory in JavaScript's",
    happened: tooMuch,
    code: `${inside}\nx = [api._module.HEAPU8.slice() for _ in range(50)]`,
    result: /^Error: (more than 128 MB of memory|stopped after 1.5 s)\.$|allocation failed/,
  },
  { what: "recursion", happened: "RecursionError", code: "def f(): return f()\nf()", result: /RecursionError/ },
  {
    what: "recursion without Python's limit",
    happened: crashed,
    code: "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()",
    result: /crashed|stopped|memory|RecursionError/,
  },
  {
    what: "a tuple a million deep",
    happened: crashed,
    code: "x = None\nfor i in range(10**6): x = (x,)\ndel x",
    result: /^$|crashed|stopped/,
  },
  {
    what: "source that nests too deep",
    happened: "MemoryError of the parser",
    code: "eval('-' * 10**5 + '1')",
    result: /^MemoryError: Parser stack overflowed/,
  },
  {
    what: "a message of 5 MB",
    happened: "cut to 4000 characters",
    code: "raise ValueError('x' * 5 * 10**6)",
    result: /^[\s\S]{3900,4100}$/,
  },
  {
    what: "300 causes of an exception",
    happened: "the last ones are shown",
    code: "e = None\nfor i in range(300):\n  x = ValueError(i)\n  x.__cause__ = e\n  e = x\nraise e",
    result: /^ValueError: 294[\s\S]*ValueError: 299$/,
  },
  {
    what: "an endless output",
    happened: "cut with a notice, then stopped",
    code: "while True: print('x' * 1000)",
    result: /\[cut: the first 10000 of about \d+ characters\]Error: stopped after 1.5 s\.$/,
  },
  {
    what: "output without a line's end",
    happened: "it is shown",
    code: "import sys\nx = sys.stdout.write('abc')",
    result: /^abc$/,
  },
  {
    what: "surrogates, NUL, escape codes",
    happened: "shown escaped; the tool shows control characters as U+FFFD",
    code: "print('\\ud800 \\0 \\x1b[2J')",
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is printed
    result: /^\\ud800 \0 \x1b\[2J\n$/,
  },
  { what: "NUL in the code", happened: "SyntaxError", code: "x = 'a\0b'", result: /SyntaxError/ },
  { what: "`input()`", happened: "EOFError", code: "input()", result: /EOFError/ },
];
