import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readRecordedSearch } from "./recorded.ts";

const many = { count: 10 };

const published = join(import.meta.dirname, "../../../../shared/benchmarks/search/search_cache.json.gz");
test.skipIf(!existsSync(published))(
  "ARPO's own cache is read: most of its queries have results, by the words that a model writes",
  async () => {
    const recorded = await readRecordedSearch(published);
    const found = await recorded.search("What nationality was Yuri Ozerov and John Cromwell?", many);
    expect(found.length).toBeGreaterThan(1);
    expect(found[0].snippet).toMatch(/^Yuriy Ozerov was born on 26 January 1921/);
  },
);
