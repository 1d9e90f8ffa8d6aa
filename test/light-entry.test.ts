import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";

/** Packages that a module's static imports reach: types and dynamic imports load nothing. */
function packagesBehind(entry: string): Set<string> {
  const [seen, packages, queue] = [new Set<string>(), new Set<string>(), [resolve(entry)]];
  for (const file of queue) {
    if (seen.has(file) || !existsSync(file)) continue;
    seen.add(file);
    const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export)\s+(?!type\b)(?:[^;"]*?from\s+)?"([^"]+)"/gm);
    for (const [, name = ""] of imports) {
      if (name.startsWith(".")) queue.push(join(dirname(file), name));
      else if (!name.startsWith("node:"))
        packages.add(
          name
            .split("/")
            .slice(0, name.startsWith("@") ? 2 : 1)
            .join("/"),
        );
    }
  }
  expect(seen.size).toBeGreaterThan(50);
  return packages;
}

test("programs that only evaluate or record load no engine, no Hub and no tokenizer", () => {
  const light = packagesBehind("entries/agents.ts");
  for (const heavy of ["onnxruntime-node", "@huggingface/hub", "@huggingface/tokenizers", "hyparquet", "commander"])
    expect([heavy, light.has(heavy)]).toEqual([heavy, false]);
  expect(light.size).toBeLessThan(10);
});
