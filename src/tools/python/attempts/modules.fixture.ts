import { type Attempt, noModule } from "./attempt.fixture.ts";

/** Against the wall around modules: nothing that reaches JavaScript, the network or C can be imported. */
export const modules: readonly Attempt[] = [
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
];
