import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { randomStream } from "../../../src/core/random.ts";

/** A change of one place in one file, as Stryker makes it. Lines and columns count from 0. */
export interface Mutant {
  readonly file: string;
  readonly kind: string;
  /** What is in its place. */
  readonly original: string;
  readonly replacement: string;
  readonly location: Location;
}

interface Location {
  readonly start: Position;
  readonly end: Position;
}

interface Position {
  readonly line: number;
  readonly column: number;
}

const position = z.object({ line: z.number(), column: z.number() });
const instrumented = z.object({
  files: z.array(z.object({ name: z.string(), content: z.string() })),
  mutants: z.array(
    z.object({
      id: z.string(),
      fileName: z.string(),
      mutatorName: z.string(),
      replacement: z.string(),
      location: z.object({ start: position, end: position }),
      status: z.string().optional(),
    }),
  ),
});

interface Instrumenter {
  instrument(files: readonly object[], options: object): Promise<unknown>;
}

/** What texts of errors say is read by people: their mutants are not made. */
const errorTexts = {
  shouldIgnore: ({ node }: { node: { type: string; callee?: { name?: string } } }) =>
    node.type === "NewExpression" && /Error$/.test(node.callee?.name ?? "") ? "a text of an error" : undefined,
};

const quiet = { isDebugEnabled: () => false, debug: () => {}, info: () => {}, warn: console.warn };

async function instrument(stryker: string, files: readonly object[]) {
  const entry = createRequire(join(stryker, "package.json")).resolve("@stryker-mutator/instrumenter");
  const { Instrumenter } = (await import(pathToFileURL(entry).href)) as { Instrumenter: new (logger: object) => Instrumenter };
  const options = { plugins: null, excludedMutations: [], ignorers: [errorTexts] };
  return instrumented.parse(await new Instrumenter(quiet).instrument(files, options));
}

export async function mutantsOf(stryker: string, root: string, files: readonly string[]): Promise<Mutant[]> {
  const sources = files.map((name) => ({ name, mutate: true, content: readFileSync(join(root, name), "utf8") }));
  const { mutants } = await instrument(stryker, sources);
  const contents = new Map(sources.map(({ name, content }) => [name, content]));
  return mutants
    .filter(({ status }) => status === undefined)
    .map(({ fileName: file, mutatorName: kind, replacement, location }) => {
      const [start, end] = range(contents.get(file) ?? "", location);
      return { file, kind, original: (contents.get(file) ?? "").slice(start, end), replacement, location };
    });
}

/** Returns a key that the same change has in every process. */
export const keyOf = ({ file, location: { start, end }, replacement }: Omit<Mutant, "original" | "kind">) =>
  `${file}:${start.line + 1}:${start.column + 1}-${end.line + 1}:${end.column + 1} → ${replacement}`;

/** Returns `count` mutants, drawn without replacement by the seed, in the order in which they were drawn. */
export function drawMutants(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
  const random = randomStream(seed, "mutants");
  const left = [...mutants];
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(random.integer(left.length), 1)[0]);
}

/**
 * Returns the source with the change.
 * @throws Error if the source is not the one of which the mutant was made
 */
export function applyMutant(source: string, { file, original, location, replacement }: Mutant): string {
  const [start, end] = range(source, location);
  if (source.slice(start, end) !== original)
    throw new Error(`${file} has changed since the sample was drawn; choose another --out.`);
  return source.slice(0, start) + replacement + source.slice(end);
}

function range(source: string, { start, end }: Location): [number, number] {
  const lines = source.split("\n");
  const at = ({ line, column }: Position) => lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0) + column;
  return [at(start), at(end)];
}

/** Returns the files with counters at the places of the mutants, and the number of each mutant's counter. */
export async function withCounters(stryker: string, root: string, mutants: readonly Mutant[]) {
  const sources = [...new Set(mutants.map(({ file }) => file))].map((name) => ({
    name,
    mutate: mutants.filter(({ file }) => file === name).map(({ location }) => location),
    content: readFileSync(join(root, name), "utf8"),
  }));
  const found = await instrument(stryker, sources);
  return {
    files: found.files,
    ids: new Map(found.mutants.map((mutant) => [keyOf({ ...mutant, file: mutant.fileName }), mutant.id])),
  };
}
