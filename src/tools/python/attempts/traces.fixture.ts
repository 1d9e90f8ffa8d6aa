import { type Attempt, crashed, inside, nothingLeft, refused } from "./attempt.fixture.ts";

/** The names of the program that runs cells, which is a frame away. */
const runner = "import sys\nnames = sys._getframe(1).f_globals\n";

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
