// @ts-check
/** Makes the image of all interpreters and writes it to a file: `node build.mjs FOLDER FILE`. */
import { writeFileSync } from "node:fs";
import { makeImage } from "./image.mjs";

const [, , folder = "", file = ""] = process.argv;
writeFileSync(file, makeImage(folder), { mode: 0o400 });
