import { afterAll, describe, expect, test } from "vitest";
import { ConfigError, ToolError } from "../../../src/core/errors.ts";
import { slowdown } from "../../../test/slowdown.ts";
import { descendants } from "./descendants.fixture.ts";
import { createPython, type Python } from "./python.ts";

const opened: Python[] = [];
const python = (settings: Parameters<typeof createPython>[0] = {}) => {
  const made = createPython({ interpreters: 1, timeoutMs: 20_000, ...settings });
  opened.push(made);
  return made;
};
const shared = python();
const signal = new AbortController().signal;

afterAll(() => {
  for (const one of opened) one.close();
});

describe("as a notebook", () => {
  test("what is printed comes back with the value of the last expression", async () => {
    expect(await shared.run("1+1")).toEqual({ output: "2\n", error: undefined });
    expect((await shared.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\n'é😀'")).output).toBe("a\nb\n'é😀'\n");
    expect((await shared.run("x = 5")).output).toBe("");
    expect((await shared.run("None")).output).toBe("");
  });

  test("an exception is a short traceback of the own lines, after what was printed", async () => {
    const { output, error } = await shared.run("import json\nprint('before')\ndef f(text):\n  return json.loads(text)\nf('{')");
    expect(output).toBe("before\n");
    expect(error?.split("\n")).toEqual([
      "Traceback (most recent call last):",
      '  File "<cell 1>", line 5, in <module>',
      "    f('{')",
      "    ~^^^^^",
      '  File "<cell 1>", line 4, in f',
      "    return json.loads(text)",
      "           ~~~~~~~~~~^^^^^^",
      expect.stringMatching(/^json.decoder.JSONDecodeError: Expecting property name/),
    ]);
    expect((await shared.run("def f(:")).error).toMatch(/line 1\n.*\n.*\nSyntaxError: invalid syntax$/);
    expect((await shared.run("def f(n): return f(n + 1)\nf(0)")).error).toMatch(
      /RecursionError: maximum recursion depth exceeded/,
    );
    const long = (await shared.run("raise ValueError('a' * 10**6 + 'end')")).error ?? "";
    expect(long.length).toBeLessThan(5000);
    expect(long).toMatch(/end$/);
  });

  test("the standard library is there, and what is not is named", async () => {
    const code =
      "import math, statistics\n" +
      "import fractions, itertools, re, datetime, csv, zlib\nfractions.Fraction(1, 3) + statistics.mean([fractions.Fraction(1), 2])";
    expect((await shared.run(code)).output).toBe("Fraction(11, 6)\n");
    expect((await shared.run("import numpy")).error).toBe(
      "ModuleNotFoundError: No module named 'numpy'. Only Python's standard library is here.",
    );
  });

  test("input, exit and broken output streams end nothing but the call", async () => {
    expect((await shared.run("input()")).error).toMatch(/EOFError/);
    expect(await shared.run("print('x')\nimport sys; sys.exit()\nprint('never')")).toEqual({ output: "x\n", error: undefined });
    expect((await shared.run("exit('no')")).error).toBe("SystemExit: no");
    await shared.run("import sys, builtins\nsys.stdout.close()\nsys.stdout = None\ndel builtins.print");
    expect((await shared.run("print(1)")).output).toBe("1\n");
  });

  test("output is cut with a notice, whoever writes it", async () => {
    const small = python({ maxOutput: 10 });
    expect((await small.run("print('0123456789abc')")).output).toBe("0123456789\n[cut: the first 10 of 14 characters]");
    const flood = "import os\nfor _ in range(1000): os.write(1, b'x' * 10000)";
    expect((await small.run(flood)).output).toMatch(/^xxxxxxxxxx\n\[cut: the first 10 of about 10000000 characters\]$/);
    expect((await small.run("import os\nos.write(1, bytes([255, 254]))")).output).toBe("��2\n");
  });
});

test("code that is no text is an error like others", async () => {
  for (const code of ["\0", "x = '\ud800'", "\ufeff1 +", "é = '\u2028'\né", `${"x = 1\n".repeat(200_000)}1 +`]) {
    await shared.run(code);
    expect((await shared.run("1+1")).output).toBe("2\n");
  }
  expect((await shared.run("\0")).error).toMatch(/Error/);
});

describe("sessions", () => {
  test("a call starts from nothing: names, modules, builtins, files, random numbers", async () => {
    const first = await shared.run("import random\nrandom.random()");
    await shared.run(
      "x = 1\nimport math, builtins, json, os, sys, csv\nmath.pi = 3\nbuiltins.len = None\njson.loads = None\ncsv.reader = None\n" +
        "open('note', 'w').write('x')\nos.environ['A'] = 'b'\nos.chdir('/')\nsys.path.append('x')\nrandom = 5",
    );
    const code =
      "import math, json, csv, os, sys\n[('x' in globals()), math.pi > 3, len('ab'), json.loads('1'), csv.reader is None, os.listdir(), " +
      "os.environ.get('A'), 'x' in sys.path]";
    expect((await shared.run(code)).output).toBe("[False, True, 2, 1, False, [], None, False]\n");
    expect(await shared.run("import random\nrandom.random()")).toEqual(first);
  });

  test("a session keeps its variables while others use the same interpreter", async () => {
    const [a, b] = [shared.session(), shared.session()];
    await a.run("x = 'a'\ndef f(): return x");
    await b.run("x = 'b'");
    expect((await a.run("f()")).output).toBe("'a'\n");
    expect((await b.run("x")).output).toBe("'b'\n");
    expect((await shared.run("x")).error).toMatch(/NameError/);
    expect((await b.run("f()")).error).toMatch(/NameError/);
    const both = await Promise.all([a.run("x += 'c'"), a.run("x += 'd'"), a.run("x")]);
    expect(both[2].output).toBe("'acd'\n");
  });

  test("what an exception left is kept; a fork goes its own way", async () => {
    const session = shared.session();
    await session.run("x = [1]\nx.append(2)\n1/0\nx.append(3)");
    const fork = session.fork();
    await fork.run("x.append(9)");
    expect((await session.run("x")).output).toBe("[1, 2]\n");
    expect((await fork.run("x")).output).toBe("[1, 2, 9]\n");
  });

  test("each has a process of its own; a closed one makes room, an idle one is run again", async () => {
    const two = python({ interpreters: 2 });
    const sessions = Array.from({ length: 4 }, () => two.session());
    for (const [i, session] of sessions.entries()) await session.run(`x = ${i}`);
    const outputs = [];
    for (const session of sessions) outputs.push((await session.run("x")).output);
    expect(outputs).toEqual(["0\n", "1\n", "2\n", "3\n"]);
    for (const session of sessions) session.close();
    expect((await sessions[0].run("x")).output).toBe("0\n");
  });

  test.runIf(process.platform === "linux")("the process of the next one starts ahead of its calls", async () => {
    const ahead = python();
    // Those of tests before may end meanwhile.
    const before = new Set(descendants(process.pid));
    const count = () => descendants(process.pid).filter((pid) => !before.has(pid)).length;
    const started = () => expect.poll(count, { timeout: 60_000, interval: 50 });
    const session = ahead.session();
    await started().toBeGreaterThan(0);
    await ahead.warm();
    const one = count();
    await session.run("1");
    // One start is more than one process, some of which end at once: more of them is the next start.
    await started().toBeGreaterThan(one);
  });

  test("a call that was stopped costs a session nothing", async () => {
    const quick = python({ timeoutMs: 1500 });
    const session = quick.session();
    await session.run("x = 1");
    const stopped = await session.run("print('so far')\nx = 2\nwhile True: pass");
    expect(stopped).toEqual({
      output: "so far\n",
      error: "Error: stopped after 1.5 s. Variables are as before this call.",
    });
    expect((await session.run("x")).output).toBe("1\n");
    expect((await session.run("x = 3\n10 ** 10 ** 9")).error).toMatch(/stopped after 1.5 s/);
    expect((await session.run("x")).output).toBe("1\n");
  });
});

describe("a session that is run again", () => {
  const swallow = "while True:\n  try:\n    while True: pass\n  except BaseException: pass";
  const timeoutMs = 1000;

  test("a call after many has the time of one call", async () => {
    const quick = python({ timeoutMs });
    await quick.warm();
    const session = quick.session();
    for (let i = 0; i < 12; i++) await session.run(`x${i} = ${i}`);
    const started = performance.now();
    expect((await session.fork().run(swallow)).error).toMatch(/stopped after 1 s/);
    // A second each for the cells and the call, with half a second for the kill. It was 13 times that.
    expect(performance.now() - started).toBeLessThan(8 * timeoutMs * slowdown());
  });

  test("cells that take their time when they are run again end the session, not the wait", async () => {
    const quick = python({ timeoutMs });
    await quick.warm();
    const session = quick.session();
    // Cells cannot see that they run again, but for the clock. All have to have run once before it strikes, on a busy machine too.
    const until = Math.ceil(Date.now() / 1000) + Math.ceil(3 * slowdown());
    await session.run("import time\nx = 1");
    for (let i = 0; i < 12; i++) await session.run(`if time.time() > ${until}:\n  ${swallow.replaceAll("\n", "\n  ")}`);
    const fork = session.fork();
    while (Date.now() / 1000 <= until) await new Promise((resolve) => setTimeout(resolve, 100));
    const started = performance.now();
    expect((await fork.run("x")).error).toMatch(/^Error: this call was not run.*variables are gone/);
    expect(performance.now() - started).toBeLessThan(8 * timeoutMs * slowdown());
    expect((await fork.run("x")).error).toMatch(/NameError/);
  });
});

test("the memory limit is the one that was set", async () => {
  const small = python({ memoryMb: 128 });
  expect((await shared.run("len(bytearray(150 * 10**6))")).output).toBe("150000000\n");
  expect((await small.run("len(bytearray(150 * 10**6))")).error).toMatch(/more than 128 MB/);
});

describe("the tool", () => {
  test("shows output and error as text", async () => {
    const { tool } = shared;
    expect(await tool.execute({ code: "6 * 7" }, { signal })).toBe("42");
    expect(await tool.execute({ code: "x = 1" }, { signal })).toBe("[no output: print what you want to see]");
    expect(await tool.execute({ code: "print(1)\nraise KeyError('k')" }, { signal })).toMatch(
      /^1\nTraceback[\s\S]*KeyError: 'k'$/,
    );
    const session = shared.session();
    await session.tool.execute({ code: "x = 1" }, { signal });
    expect(await session.tool.execute({ code: "x" }, { signal })).toBe("1");
    expect(await tool.execute({ code: "x" }, { signal })).toMatch(/NameError/);
  });

  test("a cancelled call stops, a waiting one leaves, and the next is served", async () => {
    const one = python();
    const cancelled = new AbortController();
    const running = one.run("while True: pass", cancelled.signal);
    const waiting = one.run("1", cancelled.signal);
    const after = one.run("2");
    const refusals = Promise.allSettled([running, waiting]);
    await one.warm();
    cancelled.abort(new Error("cancelled"));
    expect((await refusals).map((call) => call.status === "rejected" && call.reason.message)).toEqual(["cancelled", "cancelled"]);
    expect((await after).output).toBe("2\n");
  });

  test("more calls than interpreters wait for each other", async () => {
    const two = python({ interpreters: 2 });
    const outputs = await Promise.all(Array.from({ length: 20 }, (_, i) => two.run(`${i}`)));
    expect(outputs.map(({ output }) => output)).toEqual(Array.from({ length: 20 }, (_, i) => `${i}\n`));
  });

  test("a closed one says so, and wrong settings are named", async () => {
    const one = createPython();
    one.close();
    await expect(one.run("1")).rejects.toThrow(ToolError);
    expect(() => createPython({ interpreters: 0 })).toThrow(ConfigError);
  });
});
