import { type Attempt, inside } from "./attempt.fixture.ts";

/** Against limits of 1.5 s and 128 MB. */
export const exhaustion: readonly Attempt[] = [
  {
    what: "2 GB in JavaScript's arrays",
    code: `${inside}\nU = api._module.HEAPU8.constructor\nkept = []\nfor _ in range(40):\n    kept.append(U.new(50_000_000))\n    kept[-1].fill(1)\nprint("filled")`,
    result: /Error/,
  },
  { what: "`while True: pass`", code: "while True: pass", result: /^Error: stopped after 1.5 s\.$/ },
  {
    what: "a loop that catches every exception",
    code: "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in `finally`, entered again and again",
    code: "def f():\n  try:\n    while True: pass\n  finally:\n    f()\nf()",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in `__repr__`",
    code: "class A:\n  def __repr__(self):\n    while True: pass\nA()",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in an exception's `__str__`",
    code: "class E(Exception):\n  def __str__(self):\n    while True: pass\nraise E",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in `__del__`",
    code: "class A:\n  def __del__(self):\n    while True: pass\na = A()\ndel a",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "`sum(iter(int, 1))`, a loop in C",
    code: "sum(iter(int, 1))",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop in C that never looks up",
    code: "from itertools import repeat\nfrom collections import deque\ndeque(repeat(1), maxlen=0)",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop with interrupts ignored",
    code: "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a loop with Pyodide's interrupts switched off",
    code: `${inside}\napi.setInterruptBuffer(None)\nwhile True: pass`,
    result: /Error/,
  },
  { what: "`10 ** 10 ** 9`", code: "10 ** 10 ** 9", result: /^Error: stopped after 1.5 s\.$/ },
  {
    what: "`math.factorial(10**7)`",
    code: "import math\nmath.factorial(10**7)",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "a regular expression",
    code: "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "`time.sleep(100)`",
    code: "import time\ntime.sleep(100)",
    result: /^Error: stopped after 1.5 s\.$/,
  },
  {
    what: "`raise KeyboardInterrupt`",
    code: "raise KeyboardInterrupt",
    result: /^KeyboardInterrupt$/,
  },
  { what: "`sys.exit(5)`", code: "import sys\nsys.exit(5)", result: /^SystemExit: 5$/ },
  { what: "`'a' * 10**9`", code: "x = 'a' * 10**9", result: /^Error: more than 128 MB of memory\.$/ },
  { what: "`'a' * 10**10`", code: "x = 'a' * 10**10", result: /OverflowError/ },
  { what: "`1 << 10**10`", code: "1 << 10**10", result: /^Error: more than 128 MB of memory\.$/ },
  {
    what: "a list that doubles",
    code: "x = [0]\nwhile True: x += x",
    result: /^Error: more than 128 MB of memory\.$/,
  },
  {
    what: "`list(range(10**9))`",
    code: "list(range(10**9))",
    result: /^Error: (more than 128 MB of memory|stopped after 1.5 s)\.$/,
  },
  {
    what: "files of 10 MB, one after the other",
    code: "for i in range(10**6):\n  with open(f'/tmp/{i}', 'wb') as file: x = file.write(bytes(10**7))",
    // Files are JavaScript's memory: the operating system's limit may end the process before ours is seen.
    result: /^Error: (more than 128 MB of memory|stopped after 1.5 s|the interpreter crashed and was replaced)\.$|OSError/,
  },
  {
    what: "a number that squares itself",
    code: "x = 7\nwhile True: x = x * x",
    result: /^Error: (more than 128 MB of memory|stopped after 1.5 s)\.$/,
  },
  {
    what: "memory taken again after every MemoryError",
    code: "x = []\nwhile True:\n  try:\n    while True: x.append(bytearray(10**6))\n  except MemoryError: pass",
    result: /^Error: (more than 128 MB of memory|stopped after 1.5 s)\.$/,
  },
  {
    what: "copies of Python's memory in JavaScript's",
    code: `${inside}\nx = [api._module.HEAPU8.slice() for _ in range(50)]`,
    result: /Error/,
  },
  { what: "recursion", code: "def f(): return f()\nf()", result: /Error/ },
  {
    what: "recursion without Python's limit",
    code: "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()",
    result: /crashed|stopped|memory|RecursionError/,
  },
  {
    what: "a tuple a million deep",
    code: "x = None\nfor i in range(10**6): x = (x,)\ndel x",
    result: /^$|crashed|stopped/,
  },
  {
    what: "source that nests too deep",
    code: "eval('-' * 10**5 + '1')",
    result: /^MemoryError: Parser stack overflowed/,
  },
  {
    what: "a message of 5 MB",
    code: "raise ValueError('x' * 5 * 10**6)",
    result: /^[\s\S]{3900,4100}$/,
  },
  {
    what: "300 causes of an exception",
    code: "e = None\nfor i in range(300):\n  x = ValueError(i)\n  x.__cause__ = e\n  e = x\nraise e",
    result: /^ValueError: 294[\s\S]*ValueError: 299$/,
  },
  {
    what: "an endless output",
    code: "while True: print('x' * 1000)",
    result: /\[cut: the first 10000 of about \d+ characters\]Error: stopped after 1.5 s\.$/,
  },
  {
    what: "output without a line's end",
    code: "import sys\nx = sys.stdout.write('abc')",
    result: /^abc$/,
  },
  {
    what: "surrogates, NUL, escape codes",
    code: "print('\\ud800 \\0 \\x1b[2J')",
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is printed
    result: /^\\ud800 \0 \x1b\[2J\n$/,
  },
  { what: "NUL in the code", code: "x = 'a\0b'", result: /SyntaxError/ },
  { what: "`input()`", code: "input()", result: /EOFError/ },
  {
    what: "a traceback of 20,000,000 characters",
    code: "import sys\nsys._getframe(1).f_globals['describe'] = lambda e: 'A' * 20_000_000\nraise ValueError('go')",
    result: /^A{8000}\n\[cut: /,
  },
  {
    what: "every descriptor taken, then memory",
    code: "import os\nkept = []\ntry:\n  while True: os.dup(1)\nexcept OSError as e: print(e)\nwhile True: kept.append(bytearray(10**6))",
    result: /No file descriptors available\n|Too many open files|more than 128 MB/,
  },
];
