import type { Attempt } from "./attempt.fixture.ts";

/** Against the wall around this machine: files, processes, sockets and variables. */
export const hostAccess: readonly Attempt[] = [
  { what: "a file by its path", code: "open('SECRET').read()", result: /FileNotFoundError/ },
  { what: "`/etc/passwd`", code: "open('/etc/passwd').read()", result: /FileNotFoundError/ },
  {
    what: "`/proc/self/environ`",
    code: "open('/proc/self/environ').read()",
    result: /FileNotFoundError/,
  },
  { what: "a file to write", code: "open('WRITTEN', 'w').write('x')", result: /FileNotFoundError/ },
  {
    what: "file descriptors that the process may have open",
    code: "import os\nfound = []\nfor i in range(3, 100):\n  try: found.append(os.fstat(i))\n  except OSError: pass\nfound",
    result: /^\[\]$/m,
  },
  {
    what: "`os.system`",
    code: "import os\nos.system('touch WRITTEN')",
    result: /PermissionError: os.system is not possible here/,
  },
  {
    what: "`os.system` in a pickle",
    code: `import pickle\npickle.loads(b"cposix\\nsystem\\n(S'touch WRITTEN'\\ntR.")`,
    result: /PermissionError: os.system is not possible here/,
  },
  {
    what: "the original of `os.system`",
    code:
      "import importlib.machinery as m\nspec = m.BuiltinImporter.find_spec('posix')\nposix = m.BuiltinImporter.create_module(spec)\n" +
      "m.BuiltinImporter.exec_module(posix)\nposix.system('touch WRITTEN')",
    result: /^/,
  },
  {
    what: "`os.popen`, `os.execv`, `os.fork`, `os.posix_spawn`",
    code:
      "import os\nfor name in ('popen', 'execv', 'fork', 'posix_spawn'):\n  try: getattr(os, name)('/bin/sh', ['sh'])\n" +
      "  except (PermissionError, AttributeError) as e: print(type(e).__name__)",
    result: /^(PermissionError\n|AttributeError\n){4}$/,
  },
  {
    what: "`subprocess`",
    code: "import subprocess\nsubprocess.run(['touch', 'WRITTEN'])",
    result: /OSError/,
  },
  { what: "`os.kill` of the parent", code: "import os\nos.kill(os.getppid(), 9)", result: /PermissionError/ },
  { what: "`os._exit`", code: "import os\nos._exit(3)", result: /PermissionError/ },
  {
    what: "a signal to itself",
    code: "import signal\nsignal.raise_signal(signal.SIGTERM)",
    result: /crashed/,
  },
  {
    what: "threads",
    code: "import threading\nfor _ in range(10**6): threading.Thread(target=print).start()",
    result: /can't start new thread/,
  },
  {
    what: "`multiprocessing`",
    code: "import multiprocessing\nmultiprocessing.Process(target=print).start()",
    result: /No module named '_multiprocessing'/,
  },
  {
    what: "a socket",
    code: "import socket\nsocket.create_connection(('127.0.0.1', PORT), timeout=2).send(b'GET / HTTP/1.0\\r\\n\\r\\n')",
    result: /error/i,
  },
  {
    what: "a server",
    code: "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()",
    result: /PermissionError/,
  },
  {
    what: "the socket type below `socket.socket`",
    code: "import _socket\n_socket.socket().connect(('127.0.0.1', PORT))",
    result: /Error|crashed/,
  },
  {
    what: "`urllib`",
    code: "import urllib.request\nurllib.request.urlopen('http://ADDRESS/urllib').read()",
    result: /Error/,
  },
  {
    what: "`http.client`",
    code: "import http.client\nc = http.client.HTTPConnection('ADDRESS', timeout=2)\nc.request('GET', '/')",
    result: /error/i,
  },
  {
    what: "`webbrowser`",
    code: "import webbrowser\nwebbrowser.open('http://ADDRESS/')",
    result: /No module/,
  },
  {
    what: "environment variables",
    code: "import os\nsorted(os.environ)",
    result: /^\['HOME', 'LANG', 'PATH', 'PWD', 'TZ', 'USER'\]$/m,
  },
];
