import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** The files of a folder as a gzipped tar archive (POSIX ustar): what clients download a checkpoint as. */
export async function archive(folder: string): Promise<Buffer> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const blocks: Buffer[] = [];
  for (const file of files.sort()) {
    const content = await readFile(file);
    const name = file.slice(folder.length + 1).replaceAll("\\", "/");
    blocks.push(header(name, content.length), content, Buffer.alloc((512 - (content.length % 512)) % 512));
  }
  return promisify(gzip)(Buffer.concat([...blocks, Buffer.alloc(1024)]), { level: 1 });
}

function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(512);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  block.write(name, 0, 100);
  block.write(`${octal(0o644, 7)}\0`, 100);
  block.write(`${octal(0, 7)}\0${octal(0, 7)}\0`, 108); // owner and group
  block.write(`${octal(size, 11)}\0`, 124);
  block.write(`${octal(0, 11)}\0`, 136); // time
  block.write(" ".repeat(8), 148); // the checksum counts as spaces
  block.write("0", 156);
  block.write("ustar\x0000", 257);
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\0 `,
    148,
  );
  return block;
}
