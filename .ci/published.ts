import { fetchPublished, publishedModel } from "../src/hub/published.ts";

const model = publishedModel(process.argv[2] ?? "");
if (model === undefined || !("published" in model))
  throw new Error(`${process.argv[2]} is not a file that is known by its SHA-256`);
console.log(await fetchPublished(model.published));
