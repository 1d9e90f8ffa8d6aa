import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { houseTable, partOf, parts, root } from "./house.ts";

/** Rooms inside of a part, lowest first: a room imports only lower ones. The part's own files may import them all. */
const staircases: Readonly<Record<string, readonly string[]>> = {
  "extensions/local": ["machine", "graph", "model", "training", "sampling"],
  "src/training": ["config", "record", "sampling", "update", "evaluation", "supervised"],
  "src/algorithms": ["objectives", "step", "advantages", "terms", "presets", "policy-gradient", "seeupo"],
};

/** Modules of portable folders that read and write files: whoever has no files leaves them out. */
const readsFiles = [
  "src/chat/tokenizer-folder.ts",
  "src/chat/xgrammar.ts",
  "extensions/local/training/critic.ts",
  "extensions/local/sampling/frozen.ts",
];

/** Packages that only one part knows, so that they can be exchanged there. */
const owners: Readonly<Record<string, readonly string[]>> = {
  "onnxruntime-node": ["extensions/local"],
  protobufjs: ["extensions/local", "extensions/inspect", "extensions/tinker/client"],
  "@ai-sdk/openai-compatible": ["extensions/agents"],
  "@huggingface/hub": ["src/hub"],
  "@huggingface/tokenizers": ["src/chat"],
  "@huggingface/jinja": ["src/chat"],
  "@mlc-ai/web-xgrammar": ["src/chat"],
  "pure-rand": ["src/core"],
  pyodide: ["extensions/tools"],
  minisearch: ["extensions/tools"],
  hyparquet: ["extensions/tools", "extensions/inspect"],
  "hyparquet-writer": ["src/runs", "extensions/inspect"],
  "hyparquet-compressors": ["extensions/tools"],
  "html-to-text": ["extensions/tools"],
  "ipaddr.js": ["extensions/tools"],
  ajv: ["src/tools"],
  "ajv-formats": ["src/tools"],
  "@modelcontextprotocol/client": ["extensions/tools"],
  "cross-spawn": ["extensions/processes"],
  commander: ["src/cli", "extensions/completion"],
  jiti: ["src/training"],
  picocolors: ["src/terminal"],
  "@msgpack/msgpack": ["extensions/remote/verifiers"],
  ws: ["extensions/remote/openenv", "extensions/remote/server"],
};

const modules = ["src", "extensions", "entries"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((path) => `${folder}/${path.replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".ts") && !/\.(test|fixture)\.ts$/.test(path)),
);

function importsOf(module: string): string[] {
  const text = readFileSync(join(root, module), "utf8");
  return [...text.matchAll(/(?:^|[\s;}])(?:from|import)\s*\(?\s*"([^"]+)"/gm)].map((match) => match[1]);
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

test("the reader of imports sees every form", () => {
  expect(importsOf("src/core/policy.ts")).toEqual(["./trajectory.ts"]);
  expect(importsOf("src/core/random.ts")).toHaveLength(3);
  expect(modules.length).toBeGreaterThan(10);
});

/** The module that a relative import names. */
function target(module: string, specifier: string): string {
  return relative(root, join(root, dirname(module), specifier)).replaceAll("\\", "/");
}

test("every module belongs to a part, and a part knows only those above it", () => {
  expect(modules.filter((module) => partOf(module) === undefined)).toEqual([]);
  const names = parts.map(({ path }) => path);
  const up = parts.flatMap(({ path, knows }, index) =>
    knows.filter((name) => name !== "anything" && !names.slice(0, index).includes(name)).map((name) => `${path} knows ${name}`),
  );
  expect(up).toEqual([]);
});

test("modules import only what their part knows, and a part imports all that it knows", () => {
  const used = new Map(parts.map(({ path }) => [path, new Set<string>()]));
  const wrong = modules.flatMap((module) => {
    const from = partOf(module);
    return importsOf(module)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => target(module, specifier))
      .filter((imported) => {
        const to = partOf(imported)?.path ?? "no part";
        used.get(from?.path ?? "")?.add(to);
        return from?.path !== to && !from?.knows.includes(to) && !from?.knows.includes("anything");
      })
      .map((imported) => `${module} imports ${imported}`);
  });
  expect(wrong).toEqual([]);
  const idle = parts.flatMap(({ path, knows }) =>
    knows.filter((name) => name !== "anything" && !used.get(path)?.has(name)).map((name) => `${path} does not import ${name}`),
  );
  expect(idle).toEqual([]);
});

test("arrows point inwards only, and each extension says what it is in 150 words", () => {
  const outwards = parts.flatMap(({ path, knows }) =>
    path.startsWith("src/") ? knows.filter((name) => !name.startsWith("src/")).map((name) => `${path} knows ${name}`) : [],
  );
  expect(outwards).toEqual([]);
  const folders = readdirSync(join(root, "extensions"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const words = folders.map(({ name }) => [
    name,
    readFileSync(join(root, "extensions", name, "README.md"), "utf8").split(/\s+/).length,
  ]);
  expect(words.filter(([, count]) => Number(count) > 150)).toEqual([]);
});

test("tests of the core import no extension", () => {
  const tests = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .map((path) => `src/${path.replaceAll("\\", "/")}`)
    .filter((path) => /\.(test|fixture)\.ts$/.test(path));
  expect(tests.length).toBeGreaterThan(100);
  const leading = tests.filter((path) => importsOf(path).some((specifier) => target(path, specifier).startsWith("extensions/")));
  expect(leading).toEqual([]);
});

test("docs/architecture.md shows the same parts", () => {
  expect(readFileSync(join(root, "docs/architecture.md"), "utf8")).toContain(houseTable());
});

test.each(Object.entries(staircases))("rooms of %s import only lower ones", (part, rooms) => {
  const roomOf = (module: string) => rooms.findIndex((room) => module.startsWith(`${part}/${room}/`));
  const inside = modules.filter((module) => roomOf(module) >= 0);
  const wrong = inside.flatMap((module) =>
    importsOf(module)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => target(module, specifier))
      .filter((target) => roomOf(target) > roomOf(module))
      .map((target) => `${module} imports ${target}`),
  );
  expect(inside.length).toBeGreaterThan(rooms.length);
  expect(wrong).toEqual([]);
});

test("packages are imported only by the part that owns them", () => {
  const wrong = modules.flatMap((module) =>
    importsOf(module)
      .map(packageOf)
      .filter((name) => owners[name]?.includes(partOf(module)?.path ?? "") === false)
      .map((name) => `${module} imports ${name}, which belongs to ${owners[name].join(" and ")}`),
  );
  expect(wrong).toEqual([]);
});

/** What runs where there is no Node: what it needs of the machine comes in as an argument (`Runtime`) or from core/host.ts. */
const portable = [
  ...["core", "algorithms", "chat", "rollouts"].flatMap((part) => modules.filter((module) => module.startsWith(`src/${part}/`))),
  ...["src/training/update/step.ts", "src/training/supervised/sft.ts", "src/training/sampling/sampling.ts"],
  ...["engine.ts", "call-order.ts"].map((name) => `src/engines/${name}`),
  ...["graph", "training", "sampling"].flatMap((room) =>
    modules.filter((module) => module.startsWith(`extensions/local/${room}/`)),
  ),
].filter((module) => !readsFiles.includes(module));

test("nothing that runs without Node imports Node's modules, or what does", () => {
  const wrong = portable.flatMap((module) => {
    const seen = new Set<string>();
    const visit = (at: string, path: readonly string[]): string[] => {
      if (seen.has(at)) return [];
      seen.add(at);
      return valueImportsOf(at).flatMap((specifier) =>
        specifier.startsWith("node:") || specifier === "onnxruntime-node"
          ? [`${[...path, at].join(" > ")} imports ${specifier}`]
          : specifier.startsWith(".")
            ? visit(join(dirname(at), specifier).replaceAll("\\", "/"), [...path, at])
            : [],
      );
    };
    return visit(module, []);
  });
  expect(portable.length).toBeGreaterThan(80);
  expect(wrong).toEqual([]);
});

/** Static imports that are there when the program runs: those of types are not. */
function valueImportsOf(module: string): string[] {
  const text = readFileSync(join(root, module), "utf8");
  const statements = [...text.matchAll(/^(?:import|export)\s+(?!type\b)([^;"]*?)\s*from\s+"([^"]+)";|^import\s+"([^"]+)";/gm)];
  return statements.flatMap(([, names = "", specifier, bare]) => {
    const braces = /\{([^}]*)\}/s.exec(names);
    const besides = names.replace(braces?.[0] ?? "", "").replace(/[,\s]/g, "");
    const values = braces?.[1].split(",").filter((name) => name.trim() !== "" && !/^\s*type\s/.test(name)) ?? [];
    return bare !== undefined || besides !== "" || values.length > 0 ? [bare ?? specifier] : [];
  });
}
