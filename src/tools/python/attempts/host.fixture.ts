import { type Attempt, crashed, noModule, refused } from "./attempt.fixture.ts";

/** Against the wall around this machine: files, processes, sockets and variables. */
export const hostAccess: readonly Attempt[] = [
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
];
