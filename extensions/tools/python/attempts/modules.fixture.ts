import type { Attempt } from "./attempt.fixture.ts";

/** Against the wall around modules: nothing that reaches JavaScript, the network or C can be imported. */
export const modules: readonly Attempt[] = [
  { what: "`import js`", code: "import js\njs.process", result: /No module named 'js'/ },
  { what: "`from js import fetch`", code: "from js import fetch", result: /No module named 'js'/ },
  { what: "`__import__('js')`", code: "__import__('js')", result: /No module named 'js'/ },
  {
    what: "`importlib.import_module('js')`",
    code: "import importlib\nimportlib.import_module('js')",
    result: /No module named 'js'/,
  },
  {
    what: "`import js` without the finders that refuse it",
    code: "import sys, importlib\nsys.meta_path.clear()\nimportlib.invalidate_caches()\nimport js",
    result: /No module named 'js'/,
    after: ["import csv\ncsv.__name__", "'csv'\n"],
  },
  { what: "`import pyodide_js`", code: "import pyodide_js", result: /No module named 'pyodide_js'/ },
  { what: "`import _pyodide_core`", code: "import _pyodide_core", result: /No module named '_pyodide_core'/ },
  {
    what: "`pyodide.code.run_js`",
    code: "from pyodide.code import run_js\nrun_js('process')",
    result: /No module named 'pyodide/,
  },
  { what: "`pyodide.http`", code: "import pyodide.http", result: /No module named 'pyodide/ },
  { what: "`import micropip`", code: "import micropip", result: /No module named 'micropip'/ },
  { what: "`import ctypes`", code: "import ctypes", result: /No module named 'ctypes'/ },
  {
    what: "`ctypes` from its source file",
    code:
      "import importlib.machinery as m, importlib.util as u\nspec = m.PathFinder.find_spec('ctypes')\nmodule = u.module_from_spec(spec)\n" +
      "spec.loader.exec_module(module)\nmodule.CDLL(None).system(b'touch WRITTEN')",
    result: /No module named '_ctypes'/,
  },
];
