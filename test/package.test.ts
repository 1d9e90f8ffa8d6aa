import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";

const root = join(import.meta.dirname, "..");
const packSchema = z.array(z.object({ size: z.number(), files: z.array(z.object({ path: z.string(), mode: z.number() })) }));

const exportsSchema = z.object({ exports: z.record(z.string(), z.object({ types: z.string(), default: z.string() })) });

let tarball: z.infer<typeof packSchema>[number];

// Compiling takes seconds on a machine that has nothing else to do, and minutes beside other work.
beforeAll(() => {
  run("node", ["scripts/setup.mjs"]);
  [tarball] = packSchema.parse(JSON.parse(run("npm", ["pack", "--dry-run", "--json", "--loglevel=error"])));
}, 600_000);

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
    ...["office", "office-classic", "knowledge"].flatMap((world) =>
      ["config.json", "model.safetensors", "tokenizer.json"].map((file) => `models/${world}/${file}`),
    ),
  ];
  expect(wanted.filter((path) => !paths.includes(path))).toEqual([]);
  expect(paths.filter((path) => path.startsWith("scripts/"))).toEqual(["scripts/slim.mjs"]);
  // The test of the task that `retrograde init` writes is a template, not one of ours.
  const own = paths.filter((path) => !path.startsWith("templates/"));
  expect(own.filter((path) => /^(src|extensions|entries|test|bench|recipes|runs)\/|\.test\.|tsbuildinfo/.test(path))).toEqual([]);
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
  ["retrograde-rl/lab", ["runGrid", "judge", "cellOf", "labSettingsSchema"]],
  ["retrograde-rl/tinker", ["TinkerClient"]],
  ["retrograde-rl/evals", ["openAiRft", "fromPromptfoo", "fromEvalite", "fromMastra"]],
  ["retrograde-rl/vitest", ["agentMatchers"]],
])("%s can be imported as users do, with its types beside it", (path, names) => {
  const program = `import * as all from ${JSON.stringify(path)}; console.log(JSON.stringify(Object.keys(all)))`;
  expect(JSON.parse(run("node", ["--input-type=module", "-e", program]))).toEqual(expect.arrayContaining([...names]));
  const entry = exportsSchema.parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8"))).exports;
  const { types, default: code } = entry[path.replace("retrograde-rl", ".")];
  const packed = tarball.files.map((file) => `./${file.path}`);
  expect(packed).toEqual(expect.arrayContaining([types, code]));
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
