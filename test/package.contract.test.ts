import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";

const root = join(import.meta.dirname, "..");
const packSchema = z.array(z.object({ size: z.number(), files: z.array(z.object({ path: z.string(), mode: z.number() })) }));

const names = z.record(z.string(), z.string());
const dependenciesSchema = z.object({ dependencies: names, optionalDependencies: names });
const entrySchema = z.object({ types: z.string(), default: z.string() });
const exportsSchema = z.object({ exports: z.record(z.string(), z.unknown()) });

let tarball: z.infer<typeof packSchema>[number];

// Compiling takes seconds on a machine that has nothing else to do, and minutes beside other work.
beforeAll(() => {
  run("node", ["scripts/setup.mjs"]);
  [tarball] = packSchema.parse(JSON.parse(run("npm", ["pack", "--dry-run", "--json", "--loglevel=error"])));
});

test("the tarball holds the program, the default model and the pages, and none of the sources", () => {
  const paths = tarball.files.map(({ path }) => path);
  const wanted = [
    ...[
      "dist/entries/main.js",
      "dist/entries/index.js",
      "dist/entries/index.d.ts",
      "LICENSE",
      "README.md",
      "CHANGELOG.md",
      "docs/cli.md",
    ],
    ...["config.json", "model.safetensors", "tokenizer.json"].map((file) => `models/office/${file}`),
  ];
  expect(wanted.filter((path) => !paths.includes(path))).toEqual([]);
  expect(paths.filter((path) => path.startsWith("scripts/"))).toEqual(["scripts/slim.mjs"]);
  // The test of the task that `retrograde-rl init` writes is a template, not one of ours.
  const own = paths.filter((path) => !path.startsWith("templates/"));
  expect(
    own.filter((path) => /^(src|extensions|entries|test|bench|recipes|research|runs)\/|\.test\.|tsbuildinfo/.test(path)),
  ).toEqual([]);
});

test("the tarball is small enough for npx", () => {
  expect(tarball.size).toBeLessThan(18 * 2 ** 20);
});

test.each([
  [
    "retrograde-rl",
    [
      "train",
      "trainAgent",
      "evaluateAgent",
      "defineConfig",
      "defineEnvironment",
      "defineTool",
      "createEnvironment",
      "serveEnvironment",
    ],
  ],
  ["retrograde-rl/algorithms", ["runUpdate", "resolveAlgorithm", "seeupoUpdate", "ppu", "groupRelativeAdvantages", "klPenalty"]],
  ["retrograde-rl/engine", ["createLocalEngine", "loadTokenizer", "makeChat", "enginePolicy", "CallOrder", "capabilities"]],
  ["retrograde-rl/tinker", ["TinkerClient"]],
  ["retrograde-rl/agents", ["evaluateAgent", "compareAgents", "recordAgent"]],
  ["retrograde-rl/evals", ["fromPromptfoo", "fromEvalite", "fromMastra"]],
  ["retrograde-rl/vitest", ["agentMatchers"]],
])("%s can be imported as users do, with its types beside it", (path, names) => {
  const program = `import * as all from ${JSON.stringify(path)}; console.log(JSON.stringify(Object.keys(all)))`;
  expect(JSON.parse(run("node", ["--input-type=module", "-e", program]))).toEqual(expect.arrayContaining([...names]));
  const entry = exportsSchema.parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8"))).exports;
  const { types, default: code } = entrySchema.parse(entry[path.replace("retrograde-rl", ".")]);
  const packed = tarball.files.map((file) => `./${file.path}`);
  expect(packed).toEqual(expect.arrayContaining([types, code]));
});

test("its package.json can be read by programs that look versions up", () => {
  const program =
    'console.log(JSON.stringify((await import("retrograde-rl/package.json", { with: { type: "json" } })).default.name))';
  expect(JSON.parse(run("node", ["--no-warnings", "--input-type=module", "-e", program]))).toBe("retrograde-rl");
});

test("the packed package trains without the packages that only some features need, and asks for each by name", () => {
  const project = mkdtempSync(join(tmpdir(), "retrograde-least-"));
  const modules = join(project, "node_modules");
  const { dependencies, optionalDependencies } = dependenciesSchema.parse(
    JSON.parse(readFileSync(join(root, "package.json"), "utf8")),
  );
  const link = (name: string) => {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  };
  for (const name of Object.keys(dependencies)) link(name);
  for (const { path } of tarball.files) {
    if (!/^(dist|models\/office)\/|^package\.json$/.test(path)) continue;
    mkdirSync(dirname(join(modules, "retrograde-rl", path)), { recursive: true });
    copyFileSync(join(root, path), join(modules, "retrograde-rl", path));
  }
  writeFileSync(join(project, "tasks.jsonl"), '{"idx":0}\n');
  const shortRun = "steps: 1, rollout: { tasksPerStep: 1, groupSize: 2 }, evaluation: { tasks: 1, k: 1 }";
  const withoutRuntime = `import { train } from "retrograde-rl";
    console.log(await train({ ${shortRun}, out: "none" }).then(() => "", ({ message }) => message));`;
  expect(run("node", ["--input-type=module", "-e", withoutRuntime], project)).toMatch(
    /onnxruntime-node is missing.*npm install --ignore-scripts\./,
  );
  link("onnxruntime-node");
  const program = `import { createServer } from "node:http";
    import { connectMcp, createEnvironment, createPageReader, createPython, officeEnvironment, serveEnvironment, train } from "retrograde-rl";
    const attempt = (promise) => promise.then(() => "", ({ message }) => message);
    const page = createServer((_, reply) => reply.end("<!doctype html><p>Hello")).listen(0, "127.0.0.1");
    await new Promise((listens) => page.on("listening", listens));
    const python = createPython({ interpreters: 1, allowUnwalled: true });
    const verifiers = createEnvironment("verifiers:tcp://127.0.0.1:1", { tasks: { train: "tasks.jsonl" }, tokenizer: "tokenizer" });
    const said = [
      await attempt(connectMcp({ command: "none" })),
      await attempt(serveEnvironment({ environment: officeEnvironment(), as: "openenv", port: 0 })),
      await attempt(python.run("1")),
      await attempt(createPageReader({ allowLoopback: true })("http://127.0.0.1:" + page.address().port)),
      await attempt((async () => verifiers.open())()),
    ];
    python.close();
    page.close();
    const { summary } = await train({ ${shortRun}, out: "run" });
    console.log(JSON.stringify({ said, steps: summary.steps }));`;
  const { said, steps } = z
    .object({ said: z.array(z.string()), steps: z.number() })
    .parse(JSON.parse(run("node", ["--input-type=module", "-e", program], project).trim().split("\n").at(-1) ?? ""));
  expect(steps).toBe(1);
  for (const name of Object.keys(optionalDependencies).filter((each) => each !== "onnxruntime-node"))
    expect(said.join("\n")).toContain(`npm install ${name}`);
  rmSync(project, { recursive: true });
});

test("the built program runs without its sources' loader", () => {
  expect(existsSync(join(root, "dist/entries/main.js"))).toBe(true);
  expect(run("node", ["dist/entries/main.js", "--help"])).toContain("Usage: retrograde");
});

test("what ONNX Runtime brings for other platforms can be removed, and nothing else", () => {
  const project = mkdtempSync(join(tmpdir(), "retrograde-slim-"));
  const binaries = join(project, "node_modules/onnxruntime-node/bin/napi-v6");
  const own = join(process.platform, process.arch);
  for (const path of [own, join(process.platform, "other"), "otheros/x64"]) mkdirSync(join(binaries, path), { recursive: true });
  run("node", [join(root, "scripts/slim.mjs")], project);
  expect(readdirSync(binaries)).toEqual([process.platform]);
  expect(readdirSync(join(binaries, process.platform))).toEqual([process.arch]);
  rmSync(project, { recursive: true });
});

function run(command: string, args: readonly string[], cwd = root): string {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
