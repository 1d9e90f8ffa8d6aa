import { expect, test } from "vitest";
import { nvidiaCard } from "./gpu-memory.ts";

/** A driver's program that prints this, and what it was asked. */
function driver(line: string) {
  const asked: (readonly string[])[] = [];
  const ask = (query: readonly string[]) => {
    asked.push(query);
    return line;
  };
  return { asked, ask };
}

const fields = ["--query-gpu=memory.free,memory.total,driver_version,name", "--format=csv,noheader,nounits"];

test("the first card that the driver lists is read, in MiB, its name with commas", () => {
  const { asked, ask } = driver("1000, 2000, 580.159, NVIDIA H100, 80GB\n5, 6, 580.159, B\n");
  expect(nvidiaCard(ask, "")).toEqual({
    name: "NVIDIA H100, 80GB",
    driver: "580.159",
    totalBytes: 2000 * 2 ** 20,
    freeBytes: 1000 * 2 ** 20,
  });
  nvidiaCard(ask, "3,0");
  expect(asked).toEqual([fields, [...fields, "--id=3"]]);
});

test("a card that is full is one; without a driver, or where it says no numbers, there is none", () => {
  expect(nvidiaCard(driver("0, 2000, 580, A").ask, "")?.freeBytes).toBe(0);
  for (const line of ["", "[N/A], 2000, 580, A", "1000, [N/A], 580, A", "1000, 0, 580, A"])
    expect(nvidiaCard(driver(line).ask, "")).toBeUndefined();
  const absent = () => {
    throw new Error("spawnSync nvidia-smi ENOENT");
  };
  expect(nvidiaCard(absent, "")).toBeUndefined();
});
