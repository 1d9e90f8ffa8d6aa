import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ReportEntry } from "./api.ts";
import { NotFound } from "./http.ts";

/** Pages of the theory lab, the studies and the benchmarks, as the package's documentation has them, and their pictures. */
export class Reports {
  readonly #folder: string;

  /** @param folder with `docs` */
  constructor(folder: string) {
    this.#folder = folder;
  }

  list(): ReportEntry[] {
    return this.#files()
      .filter((path) => path.endsWith(".md"))
      .map((path) => ({ path, title: titleOf(readFileSync(join(this.#folder, path), "utf8"), path), section: sectionOf(path) }))
      .sort((a, b) => sections.indexOf(a.section) - sections.indexOf(b.section) || a.path.localeCompare(b.path));
  }

  /** @throws NotFound for a path that is not in the list */
  text(path: string): string {
    if (!path.endsWith(".md") || !this.#files().includes(path)) throw new NotFound(`There is no report "${path}".`);
    return readFileSync(join(this.#folder, path), "utf8");
  }

  /** A picture of a report: shown as an image, so nothing in it runs. Undefined where there is none of that path. */
  picture(path: string): { readonly type: string; readonly bytes: Uint8Array } | undefined {
    const type = pictureTypes[/\.[a-z]+$/.exec(path)?.[0] ?? ""];
    if (type === undefined || !this.#files().includes(path)) return undefined;
    return { type, bytes: readFileSync(join(this.#folder, path)) };
  }

  #files(): string[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder, { recursive: true, encoding: "utf8" }).map((path) => path.replaceAll("\\", "/"));
  }
}

const pictureTypes: Readonly<Record<string, string>> = { ".svg": "image/svg+xml", ".png": "image/png" };
const sections = ["Theory lab", "Studies", "Benchmarks", "Algorithms", "Guides"];

function sectionOf(path: string): string {
  if (path.startsWith("lab")) return "Theory lab";
  if (path.startsWith("studies")) return "Studies";
  if (/^(performance|benchmarks)/.test(path)) return "Benchmarks";
  return path.startsWith("algorithms") ? "Algorithms" : "Guides";
}

function titleOf(text: string, path: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? path;
}
