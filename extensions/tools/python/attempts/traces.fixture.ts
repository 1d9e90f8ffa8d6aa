import { type Attempt, inside } from "./attempt.fixture.ts";

/** The names of the program that runs cells, which is a frame away. */
const runner = "import sys\nnames = sys._getframe(1).f_globals\n";

/** In a kept interpreter, what one session does to it must not be seen by the next. */
export const traces: readonly Attempt[] = [
  {
    what: "a file beside the session's folder",
    code: "for path in ('/left', '/dev/left', '/tmp/left'): open(path, 'w').write('x')",
    after: ["import os\n[path for path in ('/', '/dev', '/tmp') if 'left' in os.listdir(path)]", "[]\n"],
  },
  {
    what: "a module for later sessions",
    code: "import site\nopen(f'{site.getsitepackages()[0]}/evil.py', 'w').write('x = 1')\nimport evil",
    after: ["import importlib.util\nimportlib.util.find_spec('evil') is None", "True\n"],
  },
  {
    what: "other bytes in the standard library's file",
    code:
      "import os, sys\npath = next(path for path in sys.path if path.endswith('.zip'))\nbefore = os.stat(path)\n" +
      "with open(path, 'r+b') as file: file.write(b'boom')\nos.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))",
    after: ["import tarfile\n1", "1\n"],
  },
  {
    what: "`rmtree('/')`",
    code: "import shutil\nshutil.rmtree('/', ignore_errors=True)",
    after: ["import tarfile\nopen('x', 'w').write('abc')", "3\n"],
  },
  {
    what: "standard output turned into a file",
    code: "import os\nfd = os.open('/tmp/x', os.O_CREAT | os.O_WRONLY)\nos.dup2(fd, 1)\nos.dup2(fd, 2)\nprint('gone')",
  },
  { what: "standard output closed", code: "import os\nos.close(1)\nos.close(2)" },
  {
    what: "`print`, `len`, `__import__` replaced",
    code: "import builtins\nbuiltins.print = builtins.len = builtins.__import__ = builtins.__build_class__ = None",
    after: ["class A: pass\nimport json\nprint(len('ab'))", "2\n"],
  },
  {
    what: "the program that runs cells, changed by its frame",
    code: `${runner}names['compile'] = lambda *args: __import__('builtins').compile('"poisoned"', 'x', 'eval')\nnames['__builtins__']['repr'] = None`,
    after: ["1+1", "2\n"],
  },
  {
    what: "a note in the names of that program",
    code: `${runner}names['note'] = names['state']['note'] = 'a'`,
    after: [`${runner}'note' in names or 'note' in names['state']`, "False\n"],
  },
  {
    what: "methods of the library's classes replaced",
    code: "import fractions, collections\nfractions.Fraction.__add__ = None\nfractions.Fraction.evil = 1\ndel collections.Counter.most_common",
    after: [
      "from fractions import Fraction as F\nfrom collections import Counter\nF(1, 2) + F(1, 3), hasattr(F, 'evil'), Counter('aab').most_common(1)",
      "(Fraction(5, 6), False, [('a', 2)])\n",
    ],
  },
  {
    what: "`sys.modules.clear()`",
    code: "import sys\nsys.modules.clear()",
    after: ["import json, re\njson.dumps(1)", "'1'\n"],
  },
  {
    what: "a trace function that never returns",
    code: "import sys\ndef spin(*args):\n  while True: pass\nsys.setprofile(None)\nsys.settrace(lambda *args: None)",
    after: ["import sys\nprint(sys.gettrace())", "None\n"],
  },
  {
    what: "a callback of the garbage collector",
    code: "import gc\ngc.callbacks.append(lambda *args: print('seen'))\ngc.disable()",
    after: ["import gc\nx = gc.collect()\ngc.isenabled()", "True\n"],
  },
  {
    what: "an audit hook",
    code: "import sys\nsys.addaudithook(print)",
  },
  {
    what: "interrupts ignored",
    code: "import signal\nx = signal.signal(signal.SIGINT, signal.SIG_IGN)",
    after: ["import signal\nsignal.getsignal(signal.SIGINT) is signal.default_int_handler", "True\n"],
  },
  {
    what: "`atexit`",
    code: "import atexit\nx = atexit.register(print, 'seen')",
    after: ["import atexit\natexit._ncallbacks()", "0\n"],
  },
  {
    what: "the precision of decimal numbers, the length of printed integers",
    code: "import decimal, sys\ndecimal.DefaultContext.prec = 2\ndecimal.getcontext().prec = 3\nsys.set_int_max_str_digits(0)",
    after: ["import decimal, sys\nlen(str(decimal.Decimal(1) / 3)), sys.get_int_max_str_digits()", "(30, 4300)\n"],
  },
  {
    what: "a task that outlives its call",
    code: "import asyncio\ndef spin():\n  while True: pass\nasyncio.get_event_loop().call_soon(spin)\n1",
  },
  {
    what: "a print that comes later",
    code: "import asyncio\nasyncio.get_event_loop().call_later(0, print, 'seen')\n1",
    after: ["import time\ntime.sleep(0.2)\n1+1", "2\n"],
  },
  {
    what: "`Object.prototype` changed",
    code: `${inside}\nObject.prototype.kind = Object.prototype.id = "error"\nObject.prototype.output = "poisoned"\n1`,
  },
  {
    what: "`toJSON` on `Object.prototype`",
    code: `${inside}\nObject.prototype.toJSON = Object\n1`,
  },
  {
    what: "Pyodide's memory overwritten",
    code: `${inside}\napi._module.HEAPU8.fill(255)`,
  },
  {
    what: "`sys.monitoring`",
    code: "import sys\nsys.monitoring.use_tool_id(3, 'spy')\nsys.monitoring.set_events(3, sys.monitoring.events.CALL)",
    after: ["import sys\nsys.monitoring.get_tool(3)", ""],
  },
  {
    what: "decimal traps",
    code: "import decimal\ndecimal.getcontext().traps[decimal.DivisionByZero] = False\ndecimal.DefaultContext.traps[decimal.Inexact] = True",
    after: ["import decimal\ndecimal.Decimal(1) / 3\ndecimal.getcontext().traps[decimal.DivisionByZero]", "True\n"],
  },
  {
    what: "a class registered with an abstract one",
    code: "import numbers, collections.abc\nnumbers.Number.register(str)\ncollections.abc.Mapping.register(int)",
    after: [
      "import numbers, collections.abc\nisinstance('', numbers.Number), isinstance(1, collections.abc.Mapping)",
      "(False, False)\n",
    ],
  },
  {
    what: "a context variable",
    code: "import contextvars, sys\nsys.note = contextvars.ContextVar('note')\nsys.note.set(1)",
    after: ["import contextvars, sys\nlist(contextvars.copy_context()), hasattr(sys, 'note')", "([], False)\n"],
  },
  {
    what: "settings of asyncio",
    code: "import sys\nsys.set_asyncgen_hooks(print)",
    after: ["import sys\nsys.get_asyncgen_hooks().firstiter", ""],
  },
  {
    what: "settings of the garbage collector",
    code: "import gc\ngc.set_threshold(1, 1, 1)\ngc.set_debug(gc.DEBUG_SAVEALL)\ngc.freeze()\ngc.disable()",
    after: [
      "import gc\ngc.get_threshold()[0] > 1, gc.get_debug(), gc.get_freeze_count(), gc.isenabled()",
      "(True, 0, 0, True)\n",
    ],
  },
  {
    what: "a codec and an error handler",
    code: "import codecs\ncodecs.register(lambda name: codecs.lookup('utf-8') if name == 'spy' else None)\ncodecs.register_error('strict', lambda e: ('', e.end))",
    after: [
      "try: 'a'.encode('spy')\nexcept LookupError: print('unknown')\ntry: 'é'.encode('ascii')\nexcept UnicodeError: print('strict')",
      "unknown\nstrict\n",
    ],
  },
  {
    what: "pickles of a type",
    code: "import copyreg, fractions\ncopyreg.pickle(fractions.Fraction, lambda f: (print, ('spied',)))",
    after: ["import copy, fractions\ncopy.copy(fractions.Fraction(1, 2))", "Fraction(1, 2)\n"],
  },
];
