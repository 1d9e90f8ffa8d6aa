/** Gives what is free in the C library's heap back to the system, in another thread. */
export type GiveBack = () => Promise<void>;

type Koffi = Pick<typeof import("koffi"), "load">;

/**
 * glibc keeps pages that are freed between ones that are held: behind the making of a 135 M model's sampler 1.6 of 2.7 GB, and more with every
 * session that is opened and closed (malloc_trim(3)). Other systems' libraries have no such call.
 */
export function heapOf({ load }: Koffi, platform: string = process.platform): GiveBack {
  if (platform !== "linux") return nothing;
  try {
    const trim = load("libc.so.6").func("int malloc_trim(size_t pad)");
    return () => new Promise((resolve, reject) => trim.async(0, (error: unknown) => (error ? reject(error) : resolve())));
  } catch {
    return nothing; // musl
  }
}

const nothing: GiveBack = async () => undefined;
