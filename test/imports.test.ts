import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const screenParts = [
  "cli/screen.ts",
  "cli/paint.ts",
  "cli/printable.ts",
  "cli/format.ts",
  "cli/wrap.ts",
  "cli/invocation.ts",
  "cli/progress.ts",
];

/**
 * The arrows of docs/architecture.md: what each part of src/ may import besides itself. A module belongs to the longest name
 * that it starts with. A new part has no arrows until it is listed here.
 */
const arrows: Readonly<Record<string, readonly string[]>> = {
  core: [],
  plot: [],
  files: [],
  statistics: ["core"],
  algorithms: ["core"],
  hub: ["core", "files"],
  tinker: ["core"],
  "engines/tinker": ["core", "engines/engine.ts", "engines/call-order.ts", "tinker"],
  "server/http": ["core"],
  "server/inference": ["chat", "tools", "core", "engines/engine.ts", "server/http"],
  "server/tinker": ["core", "engines/engine.ts", "tinker", "server/http"],
  "server/environments": [
    "core",
    "actions",
    "environments/environment.ts",
    "environments/protocol.ts",
    "tools",
    "rollouts",
    "server/http",
  ],
  "engines/engine.ts": ["core"],
  "engines/call-order.ts": [],
  "engines/settings.ts": ["core"],
  "engines/local": ["core", "files", "engines/engine.ts", "engines/call-order.ts"],
  tools: ["core"],
  actions: ["core"],
  completions: ["core"],
  "environments/protocol.ts": ["core", "actions"],
  "environments/environment.ts": ["core", "tools", "environments/protocol.ts"],
  "environments/fetch-file.ts": ["core"],
  "environments/habits.ts": ["core"],
  "environments/plan.ts": ["core"],
  "environments/office": ["core", "tools", "environments/environment.ts", "environments/habits.ts", "environments/plan.ts"],
  "environments/office-classic": [
    "core",
    "tools",
    "environments/environment.ts",
    "environments/habits.ts",
    "environments/plan.ts",
  ],
  "environments/arpo-protocol": ["core", "actions", "tools", "environments/environment.ts", "environments/protocol.ts"],
  "environments/deep-research": [
    "core",
    "completions",
    "files",
    "hub",
    "tools",
    "environments/fetch-file.ts",
    "environments/environment.ts",
    "environments/protocol.ts",
    "environments/arpo-protocol",
  ],
  "environments/knowledge": [
    "core",
    "tools",
    "environments/environment.ts",
    "environments/protocol.ts",
    "environments/habits.ts",
    "environments/arpo-protocol",
  ],
  "environments/bfcl": ["core", "tools", "environments/environment.ts", "environments/fetch-file.ts"],
  "environments/remote": ["core"],
  "environments/openenv": ["core", "tools", "environments/environment.ts", "environments/remote"],
  "environments/verifiers": ["core", "environments/environment.ts", "environments/remote", "server/http", "server/inference"],
  "environments/nemo-gym": ["core", "tools", "environments/environment.ts", "environments/remote"],
  "environments/ors": ["core", "tools", "environments/environment.ts", "environments/remote"],
  "environments/appworld": ["core", "actions", "tools", "environments/environment.ts", "environments/protocol.ts"],
  environments: [
    "core",
    "tools",
    "environments/environment.ts",
    "environments/protocol.ts",
    "environments/office",
    "environments/office-classic",
    "environments/deep-research",
    "environments/knowledge",
    "environments/bfcl",
    "environments/remote",
    "environments/openenv",
    "environments/nemo-gym",
    "environments/ors",
    "environments/verifiers",
    "environments/appworld",
    "server/http",
    "server/inference",
  ],
  chat: ["core", "tools", "actions"],
  rollouts: [
    "core",
    "completions",
    "engines/engine.ts",
    "environments/environment.ts",
    "environments/protocol.ts",
    "tools",
    "actions",
    "chat",
  ],
  runs: ["core", "files", "statistics", "plot"],
  lab: ["core", "algorithms", "plot"],
  plan: ["core"],
  rewards: ["core", "completions", "environments/environment.ts", "runs"],
  training: [
    "core",
    "statistics",
    "algorithms",
    "engines/engine.ts",
    "engines/settings.ts",
    "environments/environment.ts",
    "environments/protocol.ts",
    "environments",
    "tools",
    "chat",
    "rollouts",
    "runs",
    "rewards",
  ],
  check: ["core", "statistics", "engines/engine.ts", "environments/environment.ts", "tools", "chat", "rollouts", "training"],
  sdk: [
    "algorithms",
    "core",
    "hub",
    "engines/engine.ts",
    "engines/settings.ts",
    "engines/local",
    "environments/environment.ts",
    "environments",
    "chat",
    "rollouts",
    "runs",
    "rewards",
    "training",
    "server/tinker",
    "server/environments",
    "engines/tinker",
    "cli/display.ts",
    "cli/screen.ts",
    "cli/interrupt.ts",
  ],
  study: ["core", "statistics", "plot", "runs", "training", "sdk"],
  // What a run shows of itself, in a terminal and from code.
  "cli/display.ts": ["core", "runs", "training", ...screenParts],
  "cli/screen.ts": screenParts,
  "cli/printable.ts": ["core"],
  "cli/paint.ts": [],
  "cli/format.ts": ["statistics"],
  "cli/wrap.ts": [],
  "cli/invocation.ts": [],
  "cli/interrupt.ts": [],
  "cli/progress.ts": ["core", "runs", "training", ...screenParts],
  "server/dashboard": ["core", "chat", "runs", "server/http"],
  cli: ["anything"],
  exports: ["anything"],
  "index.ts": ["anything"],
};

/** Rooms inside of a part, lowest first: a room imports only lower ones. The part's own files may import them all. */
const staircases: Readonly<Record<string, readonly string[]>> = {
  "engines/local": ["machine", "graph", "model", "training", "sampling"],
  algorithms: ["objectives", "advantages", "step", "settings", "policy-gradient", "seeupo"],
};

/** Modules of portable folders that read and write files: whoever has no files leaves them out. */
const readsFiles = ["chat/tokenizer-folder.ts", "engines/local/training/critic.ts", "engines/local/sampling/frozen.ts"];

/** Packages that only one part knows, so that they can be exchanged there. */
const owners: Readonly<Record<string, string | readonly string[]>> = {
  "onnxruntime-node": "engines/local",
  protobufjs: ["engines/local", "tinker"],
  "@huggingface/hub": "hub",
  "@huggingface/tokenizers": "chat",
  "@huggingface/jinja": "chat",
  "pure-rand": "core",
  pyodide: "tools",
  minisearch: "tools",
  hyparquet: ["tools", "runs"],
  "hyparquet-writer": "runs",
  "hyparquet-compressors": "tools",
  "html-to-text": "tools",
  "ipaddr.js": "tools",
  "@modelcontextprotocol/client": "tools",
  commander: "cli",
  jiti: "training",
  picocolors: "cli/paint.ts",
  "@msgpack/msgpack": "environments/verifiers",
  ws: ["environments/openenv", "server/environments"],
};

const source = join(import.meta.dirname, "../src");
const modules = readdirSync(source, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));

function partOf(module: string): string {
  const parts = Object.keys(arrows).filter((part) => module === part || module.startsWith(`${part}/`));
  return parts.sort((a, b) => b.length - a.length)[0] ?? `${module} (in no part that test/imports.test.ts knows)`;
}

function importsOf(module: string): string[] {
  const text = readFileSync(join(source, module), "utf8");
  return [...text.matchAll(/(?:^|[\s;}])(?:from|import)\s*\(?\s*"([^"]+)"/gm)].map((match) => match[1]);
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

test("the reader of imports sees every form", () => {
  expect(importsOf("core/policy.ts")).toEqual(["./trajectory.ts"]);
  expect(importsOf("core/random.ts")).toHaveLength(3);
  expect(modules.length).toBeGreaterThan(10);
});

test("modules import only what the arrows allow", () => {
  const wrong = modules.flatMap((module) => {
    const from = partOf(module);
    const targets = importsOf(module)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => relative(source, join(source, dirname(module), specifier)).replaceAll("\\", "/"));
    return targets.filter((target) => !isAllowed(from, partOf(target))).map((target) => `${module} imports ${target}`);
  });
  expect(wrong).toEqual([]);
});

test.each(Object.entries(staircases))("rooms of %s import only lower ones", (part, rooms) => {
  const roomOf = (module: string) => rooms.findIndex((room) => module.startsWith(`${part}/${room}/`));
  const inside = modules.filter((module) => roomOf(module) >= 0);
  const wrong = inside.flatMap((module) =>
    importsOf(module)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => relative(source, join(source, dirname(module), specifier)).replaceAll("\\", "/"))
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
      .filter((name) => owners[name] !== undefined && ![owners[name]].flat().includes(partOf(module)))
      .map((name) => `${module} imports ${name}, which belongs to ${[owners[name]].flat().join(" and ")}`),
  );
  expect(wrong).toEqual([]);
});

function isAllowed(from: string, to: string): boolean {
  const allowed = arrows[from] ?? [];
  return from === to || allowed.includes(to) || allowed.includes("anything");
}

/** What runs where there is no Node: what it needs of the machine comes in as an argument (`Runtime`) or from core/host.ts. */
const portable = [
  ...["core", "algorithms", "chat", "rollouts"].flatMap((part) => modules.filter((module) => module.startsWith(`${part}/`))),
  ...["training/step.ts", "training/supervised/sft.ts", "training/sampling.ts"],
  ...["engine.ts", "call-order.ts"].map((name) => `engines/${name}`),
  ...["graph", "training", "sampling"].flatMap((room) => modules.filter((module) => module.startsWith(`engines/local/${room}/`))),
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
  const text = readFileSync(join(source, module), "utf8");
  const statements = [...text.matchAll(/^(?:import|export)\s+(?!type\b)([^;"]*?)\s*from\s+"([^"]+)";|^import\s+"([^"]+)";/gm)];
  return statements.flatMap(([, names = "", specifier, bare]) => {
    const braces = /\{([^}]*)\}/s.exec(names);
    const besides = names.replace(braces?.[0] ?? "", "").replace(/[,\s]/g, "");
    const values = braces?.[1].split(",").filter((name) => name.trim() !== "" && !/^\s*type\s/.test(name)) ?? [];
    return bare !== undefined || besides !== "" || values.length > 0 ? [bare ?? specifier] : [];
  });
}
